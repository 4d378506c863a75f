import { createHash, type KeyObject } from 'node:crypto';
import {
  decodeEventLog,
  describeEvent,
  EVENT,
  findForgedEvent,
  type MeasuredEvent,
  replay,
} from '../../formats/tpm/event-log.ts';
import { ALGORITHM, ATTRIBUTE, hashName } from '../../formats/tpm/numbers.ts';
import {
  decodePublicArea,
  type PublicArea,
  publicKeyHash,
  publicKeyOf,
} from '../../formats/tpm/public-area.ts';
import { decodeQuote } from '../../formats/tpm/quote.ts';
import { decodeSignature, isSignedBy } from '../../formats/tpm/signature.ts';
import { ENDORSEMENT_KEYS, isMadeFrom } from '../../formats/tpm/templates.ts';
import { KindlingError } from '../../protocol/error.ts';

/** What was asked of the machine: registers of the SHA-256 bank, signed together with the nonce. */
export interface Want {
  nonce: Buffer;
  pcrs: readonly number[];
}

/** What the machine shows. Nothing of it is believed before it is checked. */
export interface Evidence {
  ekPublic: Uint8Array;
  ekCertificate: Uint8Array;
  akPublic: Uint8Array;
  quote: Uint8Array;
  signature: Uint8Array;
  /** In the order of the wanted registers. */
  pcrValues: readonly Uint8Array[];
  /** Empty where the kernel has none. */
  eventLog: Uint8Array;
}

/** What is known after the evidence was checked; whose TPM it is follows from the challenge. */
export interface CheckedEvidence {
  ek: PublicArea;
  ekKey: KeyObject;
  ekHash: string;
  ak: PublicArea;
  pcrs: Map<number, Buffer>;
  /** Undefined where the machine has no log. */
  events: MeasuredEvent[] | undefined;
}

const { fixedTpm, restricted, sign, decrypt, sensitiveDataOrigin, userWithAuth } = ATTRIBUTE;
/** What go-attestation asks of an attestation key (attest/activation.go), by name. */
const MUST_HAVE = { fixedTPM: fixedTpm, restricted, sign, sensitiveDataOrigin, userWithAuth };
const MOST_LOG_BYTES = 1024 * 1024;
const REGISTER_SIZE = 32;
const SMALLEST_RSA = 2048;

/** Checks everything that needs no secret: 1 the keys  2 the quote  3 the registers  4 the event log. */
export function verifyEvidence(evidence: Evidence, want: Want): CheckedEvidence {
  const ek = decodePublicArea(evidence.ekPublic);
  const ak = decodePublicArea(evidence.akPublic);
  const ekKey = requireEndorsementKey(ek);
  const akKey = requireAttestationKey(ak);
  requireQuote(evidence, want, akKey);
  const pcrs = new Map(want.pcrs.map((pcr, index) => [pcr, Buffer.from(evidence.pcrValues[index] ?? [])]));
  const events = readLog(evidence.eventLog);
  if (events) requireSameRegisters(events, pcrs);
  return { ek, ekKey, ekHash: publicKeyHash(ekKey), ak, pcrs, events };
}

/** The seed of a challenge is encrypted to it: it has to be a key that can do nothing but open challenges. */
function requireEndorsementKey(area: PublicArea): KeyObject {
  const isKnown = Object.values(ENDORSEMENT_KEYS).some(({ template }) => isMadeFrom(template, area));
  const key = publicKeyOf(area);
  if (!isKnown || !key)
    throw new KindlingError('KND_PROOF_KEY', 'the endorsement key is of no known template');
  return key;
}

/** A key that could sign anything else, or that came from outside, would sign a quote that nobody made. */
function requireAttestationKey(area: PublicArea): KeyObject {
  const missing = Object.entries(MUST_HAVE).find(([, bit]) => !(area.attributes & bit));
  if (missing) throw new KindlingError('KND_PROOF_KEY', `the attestation key is not ${missing[0]}`);
  if (area.attributes & decrypt)
    throw new KindlingError('KND_PROOF_KEY', 'the attestation key decrypts, too');
  const key = publicKeyOf(area);
  const isStrong = area.key.kind === 'ecc' || area.key.bits >= SMALLEST_RSA;
  const isHashKnown = area.nameAlgorithm !== ALGORITHM.sha1 && hashName(area.nameAlgorithm) !== undefined;
  if (!key || !isStrong || !isHashKnown)
    throw new KindlingError('KND_PROOF_KEY', 'the attestation key is too weak, or no key');
  return key;
}

function requireQuote(evidence: Evidence, want: Want, akKey: KeyObject): void {
  const signature = decodeSignature(evidence.signature);
  if (!isSignedBy(akKey, evidence.quote, signature))
    throw new KindlingError('KND_PROOF_QUOTE', 'the attestation key did not sign this quote');
  const quote = decodeQuote(evidence.quote);
  if (!quote.extraData.equals(want.nonce))
    throw new KindlingError('KND_PROOF_QUOTE', 'the quote was made for another question');
  const [selection, ...others] = quote.selections;
  const isWhatWasAsked =
    others.length === 0 &&
    selection?.hash === ALGORITHM.sha256 &&
    selection.pcrs.join() === [...want.pcrs].sort((a, b) => a - b).join();
  if (!isWhatWasAsked) throw new KindlingError('KND_PROOF_QUOTE', 'the quote is over other registers');
  const values = evidence.pcrValues;
  const isComplete =
    values.length === want.pcrs.length && values.every((value) => value.length === REGISTER_SIZE);
  const digest = createHash(hashName(signature.hash) ?? 'sha256')
    .update(Buffer.concat(values))
    .digest();
  if (!isComplete || !digest.equals(quote.pcrDigest))
    throw new KindlingError('KND_PROOF_QUOTE', 'the registers are not those that the TPM signed');
}

function readLog(bytes: Uint8Array): MeasuredEvent[] | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes.length > MOST_LOG_BYTES)
    throw new KindlingError('KND_PROOF_LOG', `the event log has ${bytes.length} bytes; 1 MiB are read`);
  return decodeEventLog(bytes);
}

/** The log is only the firmware's word; what makes it true is that it gives the registers that the TPM signed. */
function requireSameRegisters(events: readonly MeasuredEvent[], pcrs: ReadonlyMap<number, Buffer>): void {
  const forged = findForgedEvent(events);
  const event = forged === undefined ? undefined : events[forged];
  if (event)
    throw new KindlingError(
      'KND_PROOF_LOG',
      `event ${forged} of the log (${describeEvent(event)}) is not what was measured`,
    );
  for (const [pcr, value] of replay(events, ALGORITHM.sha256)) {
    const quoted = pcrs.get(pcr);
    if (quoted && !quoted.equals(value)) {
      const first = events.findIndex(
        (candidate) => candidate.pcr === pcr && candidate.type !== EVENT.noAction,
      );
      const named = events[first];
      const from = named ? `, first event ${first} (${describeEvent(named)})` : '';
      throw new KindlingError(
        'KND_PROOF_LOG',
        `the event log does not give PCR ${pcr} that the TPM signed${from}`,
      );
    }
  }
}
