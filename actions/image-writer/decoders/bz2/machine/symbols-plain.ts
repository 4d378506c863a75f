import { BYTES, CODES, COUNTS, DAMAGED, LIST, MAX_BLOCK, NEEDS_MORE, OK, SELECTORS } from '../layout';
import { bits, drop, isFarBehind, judge, next, refill } from './bits';
import { CODES_BYTES, END_OF_BLOCK, findLongCode, isNoCode, LONG_CODE, LOOKUP_BITS } from './codes';
import { GROUP } from './symbols';

/** What symbols.ts does, without vectors: the list is moved byte by byte. */
export function unpackSymbolsPlainly(selectors: u32): i32 {
  const end = BYTES + MAX_BLOCK;
  let to: u32 = BYTES;
  let weight: u32 = 1;
  memory.fill(COUNTS, 0, 1024);
  for (let group: u32 = 0; group < selectors; group += 1) {
    const codes = CODES + load<u8>(SELECTORS + group) * CODES_BYTES;
    if (isFarBehind(next)) return -(<i32>NEEDS_MORE);
    for (let i: u32 = 0; i < GROUP; i += 1) {
      refill();
      let entry: u32 = load<u16>(codes + ((<u32>(bits >> (64 - LOOKUP_BITS))) << 1));
      if (entry >> 5 === LONG_CODE) entry = findLongCode(codes, <u32>(bits >> 44));
      if (isNoCode(entry)) return -judge(DAMAGED);
      drop(entry & 31);
      const symbol = entry >> 5;
      if (symbol === END_OF_BLOCK) {
        const judged = judge(OK);
        return judged === OK ? <i32>(to - BYTES) : -judged;
      }
      const isRun = symbol < 2;
      const copies = isRun ? weight << symbol : 1;
      weight = isRun ? weight << 1 : 1;
      if (copies > end - to) return -judge(DAMAGED);
      if (!isRun) moveToFront(symbol - 1);
      const byte: u32 = load<u8>(LIST);
      for (const stop = to + copies; to < stop; to += 1) store<u8>(to, byte);
      store<u32>(COUNTS + (byte << 2), load<u32>(COUNTS + (byte << 2)) + copies);
    }
  }
  return -judge(DAMAGED);
}

function moveToFront(place: u32): void {
  const byte = load<u8>(LIST + place);
  for (let at = LIST + place; at > LIST; at -= 1) store<u8>(at, load<u8>(at - 1));
  store<u8>(LIST, byte);
}
