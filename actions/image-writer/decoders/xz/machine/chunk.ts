import { CONTROL, INPUT_AT, INPUT_LENGTH, KEEP, OK, OUTPUT_AT, OUTPUT_LENGTH, PROPERTIES } from '../layout';
import { decodeLzma, resetPosition, resetState, setProperties, skipPosition } from './lzma';

/** The lowest control byte of a chunk that is compressed, and of those that also reset the state, have properties, reset the dictionary. */
const COMPRESSED: u32 = 0x80;
const RESETS_STATE: u32 = 0xa0;
const HAS_PROPERTIES: u32 = 0xc0;
const RESETS_DICTIONARY: u32 = 0xe0;
const PLAIN_AND_RESETS_DICTIONARY: u32 = 1;

/** Where the last chunk ended, and where the bytes begin that matches may refer to. */
let end: u32 = 0;
let oldest: u32 = 0;

/** Decodes the LZMA2 chunk of a record, whose control byte the coordinator has found good, and answers its status. */
export function decodeChunk(record: u32): u32 {
  const control: u32 = load<u8>(record, CONTROL);
  const from = load<u32>(record, INPUT_AT);
  const length = load<u32>(record, INPUT_LENGTH);
  const to = load<u32>(record, OUTPUT_AT);
  const toEnd = to + load<u32>(record, OUTPUT_LENGTH);
  if (to !== end) {
    const keep = load<u32>(record, KEEP);
    memory.copy(to - keep, end - keep, keep);
    oldest = to - keep;
  }
  end = toEnd;
  if (control >= RESETS_DICTIONARY || control === PLAIN_AND_RESETS_DICTIONARY) {
    oldest = to;
    resetPosition();
  }
  if (control < COMPRESSED) {
    memory.copy(to, from, length);
    skipPosition(length);
    return OK;
  }
  if (control >= HAS_PROPERTIES) setProperties(load<u8>(record, PROPERTIES));
  if (control >= RESETS_STATE) resetState();
  return decodeLzma(from, from + length, to, toEnd, oldest);
}
