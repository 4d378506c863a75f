import { FieldReader, sized, u8, u16, u32 } from './fields.ts';
import { GENERATED, TAG } from './numbers.ts';
import { decodePcrSelection, encodePcrSelection, type PcrSelection } from './pcr-selection.ts';

/** Part 2, 10.12.12 TPMS_ATTEST with 10.12.1 TPMS_QUOTE_INFO: what a TPM signs of its registers. */
export interface Quote {
  /** Name of the key that signed, and of those above it. */
  qualifiedSigner: Buffer;
  /** What the asker gave: it makes the quote a new one. */
  extraData: Buffer;
  /** Milliseconds since the TPM was cleared, how often it was reset and resumed, whether that is certain. */
  clock: bigint;
  resetCount: number;
  restartCount: number;
  isClockSafe: boolean;
  firmwareVersion: bigint;
  selections: PcrSelection[];
  /** Hash over the selected registers, one behind the other. */
  pcrDigest: Buffer;
}

export function encodeQuote(quote: Quote): Buffer {
  return Buffer.concat([
    u32(GENERATED),
    u16(TAG.attestQuote),
    sized(quote.qualifiedSigner),
    sized(quote.extraData),
    u64(quote.clock),
    u32(quote.resetCount),
    u32(quote.restartCount),
    u8(quote.isClockSafe ? 1 : 0),
    u64(quote.firmwareVersion),
    encodePcrSelection(quote.selections),
    sized(quote.pcrDigest),
  ]);
}

/** Throws KND_TPM_MALFORMED for anything but a quote, also for the other structures that a TPM signs. */
export function decodeQuote(bytes: Uint8Array): Quote {
  const fields = new FieldReader(bytes, 'TPMS_ATTEST');
  if (fields.u32() !== GENERATED) throw fields.fault('was not made by a TPM');
  if (fields.u16() !== TAG.attestQuote) throw fields.fault('is not a quote');
  const quote: Quote = {
    qualifiedSigner: fields.sized(),
    extraData: fields.sized(),
    clock: fields.u64(),
    resetCount: fields.u32(),
    restartCount: fields.u32(),
    isClockSafe: fields.u8() === 1,
    firmwareVersion: fields.u64(),
    selections: decodePcrSelection(fields),
    pcrDigest: fields.sized(),
  };
  fields.end();
  return quote;
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
