import { CODES, DAMAGED, LENGTHS, OK } from '../layout';
import { bits, drop, judge, refill, take } from './bits';

// One table of codes: a lookup by the next bits, and what is needed for longer codes.
export const LOOKUP_BITS: u32 = 11;
const LOOKUP_BYTES: u32 = 2 << LOOKUP_BITS;
const MAX_LENGTH: u32 = 20;
/** Per length, the first code that is too large for it, as 20 bits, and what leads from a code to its place in the order. */
const LIMITS: u32 = LOOKUP_BYTES;
const BASES: u32 = LIMITS + 96;
const ORDER: u32 = BASES + 96;
export const CODES_BYTES: u32 = 0x1400;

/** Entries are symbol << 5 | length. The end of the block is the same symbol in all alphabets; longer codes have no entry. */
export const END_OF_BLOCK: u32 = 0x1ff;
export const LONG_CODE: u32 = 0x7ff;
const NO_CODE: u32 = 0xffff_ffff;

/** Reads the code lengths of one table and builds it. */
export function readCodes(table: u32, symbols: u32): i32 {
  const at = CODES + table * CODES_BYTES;
  let length = take(5);
  for (let symbol: u32 = 0; symbol < symbols; symbol += 1) {
    for (;;) {
      if (length < 1 || length > MAX_LENGTH) return judge(DAMAGED);
      refill();
      if (bits >> 63 === 0) break;
      length += (bits >> 62) & 1 ? -1 : 1;
      drop(2);
    }
    drop(1);
    store<u8>(LENGTHS + symbol, length);
  }
  return build(at, symbols);
}

function build(at: u32, symbols: u32): i32 {
  memory.fill(at, 0xff, LOOKUP_BYTES);
  let code: u32 = 0;
  let order: u32 = 0;
  for (let length: u32 = 1; length <= MAX_LENGTH; length += 1) {
    const shift = MAX_LENGTH - length;
    store<u32>(at + BASES + length * 4, (code >> shift) - order);
    for (let symbol: u32 = 0; symbol < symbols; symbol += 1) {
      if (load<u8>(LENGTHS + symbol) !== length) continue;
      if (code >> MAX_LENGTH) return judge(DAMAGED); // more codes than there are
      const name = symbol === symbols - 1 ? END_OF_BLOCK : symbol;
      store<u16>(at + ORDER + order * 2, (name << 5) | length);
      order += 1;
      if (length <= LOOKUP_BITS) enter(at, code, (name << 5) | length);
      code += 1 << shift;
    }
    store<u32>(at + LIMITS + length * 4, code);
  }
  return judge(OK);
}

function enter(at: u32, code: u32, entry: u32): void {
  const first = code >> (MAX_LENGTH - LOOKUP_BITS);
  const end = first + (1 << (LOOKUP_BITS - (entry & 31)));
  for (let i = first; i < end; i += 1) store<u16>(at + i * 2, entry);
}

/** The entry of a code that is longer than the lookup; `ahead` are the next 20 bits. */
export function findLongCode(at: u32, ahead: u32): u32 {
  for (let length: u32 = LOOKUP_BITS + 1; length <= MAX_LENGTH; length += 1) {
    if (ahead >= load<u32>(at + LIMITS + length * 4)) continue;
    const place = (ahead >> (MAX_LENGTH - length)) - load<u32>(at + BASES + length * 4);
    return load<u16>(at + ORDER + place * 2);
  }
  return NO_CODE;
}

export function isNoCode(entry: u32): bool {
  return entry === NO_CODE;
}
