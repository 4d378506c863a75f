import {
  BYTES,
  CODES,
  COUNTS,
  DAMAGED,
  DELETIONS,
  LIST,
  MAX_BLOCK,
  MOVES,
  NEEDS_MORE,
  OK,
  SELECTORS,
} from '../layout';
import { bits, count, isFarBehind, judge, leaveBits, next } from './bits';
import { CODES_BYTES, END_OF_BLOCK, findLongCode, isNoCode, LONG_CODE, LOOKUP_BITS } from './codes';

export const GROUP: u32 = 50;
/** Symbols below are runs, or move something within the first row of the list. */
const SHALLOW: u32 = 17;

function endWith(b: u64, n: u64, from: u32, status: u32, length: u32): i32 {
  leaveBits(b, n, from);
  const judged = judge(status);
  return judged === OK ? <i32>length : -judged;
}

/** A row moved on by one byte; the last one of the row before comes in. */
function shiftIn(before: v128, row: v128): v128 {
  // biome-ignore format: one row
  return i8x16.shuffle(before, row, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
}

/**
 * Codes → symbols → bytes. The first sixteen bytes of the move-to-front list are one vector, and one instruction moves any of them
 * to the front. Runs and such moves take the same way without a branch, because nobody could predict it: each writes its byte sixteen
 * times and goes on behind as many as it means. Answers the length of the block, or what is wrong with it as a negative number.
 */
export function unpackSymbols(selectors: u32): i32 {
  let b = bits;
  let n = count;
  let from = next;
  let to: u32 = BYTES;
  let row = v128.load(LIST);
  /** What the next RUNA stands for. */
  let weight: u32 = 1;
  const zero = i8x16.splat(0);
  memory.fill(COUNTS, 0, 1024);

  for (let group: u32 = 0; group < selectors; group += 1) {
    const codes = CODES + load<u8>(SELECTORS + group) * CODES_BYTES;
    if (isFarBehind(from)) return -(<i32>NEEDS_MORE);
    // these bytes behind the end are ours, too: a group is checked once
    if (to > BYTES + MAX_BLOCK) break;
    for (let i: u32 = 0; i < GROUP; i += 1) {
      // 56 bits are enough for two symbols, and every second time is easy to predict
      if (!(i & 1)) {
        b |= load<u64>(from) >> n;
        from -= <u32>((63 - n) >> 3);
        n |= 56;
      }
      let entry: u32 = load<u16>(codes + ((<u32>(b >> (64 - LOOKUP_BITS))) << 1));
      let symbol = entry >> 5;
      if (symbol >= SHALLOW) {
        if (symbol === LONG_CODE) {
          entry = findLongCode(codes, <u32>(b >> 44));
          if (isNoCode(entry)) {
            return endWith(b, n, from, DAMAGED, 0);
          }
          symbol = entry >> 5;
        }
        if (symbol >= SHALLOW) {
          const length: u64 = entry & 31;
          b <<= length;
          n -= length;
          if (symbol === END_OF_BLOCK) {
            const length = to - BYTES;
            return endWith(b, n, from, length > MAX_BLOCK ? DAMAGED : OK, length);
          }
          // rows before the symbol's own move on by one byte; its own closes the gap
          const place: u32 = symbol - 1;
          const byte: u32 = load<u8>(LIST + place);
          let at = LIST + (place & 0xf0);
          let moved = i8x16.relaxed_swizzle(v128.load(at), v128.load(DELETIONS + ((place & 15) << 4)));
          for (; at > LIST + 16; at -= 16) {
            const before = v128.load(at - 16);
            v128.store(at, shiftIn(before, moved));
            moved = before;
          }
          v128.store(at, shiftIn(row, moved));
          row = shiftIn(i8x16.splat(<u8>byte), row);
          store<u8>(to, byte);
          to += 1;
          weight = 1;
          store<u32>(COUNTS + (byte << 2), load<u32>(COUNTS + (byte << 2)) + 1);
          continue;
        }
      }
      const length: u64 = entry & 31;
      b <<= length;
      n -= length;
      const isRun = symbol < 2;
      const copies = select<u32>(weight << symbol, 1, isRun);
      weight = select<u32>(weight << 1, 1, isRun);
      row = i8x16.relaxed_swizzle(row, v128.load(MOVES + (symbol << 4)));
      const filler = i8x16.relaxed_swizzle(row, zero);
      v128.store(to, filler);
      const counter = COUNTS + ((<u32>i8x16.extract_lane_u(row, 0)) << 2);
      store<u32>(counter, load<u32>(counter) + copies);
      if (copies > 16) {
        if (copies > MAX_BLOCK) {
          return endWith(b, n, from, DAMAGED, 0);
        }
        const end = to + copies;
        if (end > BYTES + MAX_BLOCK) {
          return endWith(b, n, from, DAMAGED, 0);
        }
        for (let at = to + 16; at < end; at += 16) v128.store(at, filler);
      }
      to += copies;
    }
  }
  // no end of the block where the selectors end
  return endWith(b, n, from, DAMAGED, 0);
}
