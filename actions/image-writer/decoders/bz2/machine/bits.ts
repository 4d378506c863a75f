import { NEEDS_MORE, REVERSED_TOP } from '../layout';
import { reverse16 } from './vectors';

/** The next bits of the block, the first one on top; `count` of them are certain. */
export let bits: u64 = 0;
export let count: u64 = 0;
/** Where the next eight bytes are loaded from; the input lies back to front. */
export let next: u32 = 0;
let last: u32 = 0;

/** Turns the input round, so that a load of eight bytes has the first of them on top. */
export function openBits(input: u32, length: u32, firstBit: u32): void {
  // zeros behind the end: whatever reads too far ends soon
  for (let at: u32 = 0; at < 64; at += 8) store<u64>(REVERSED_TOP - length - 64 + at, 0);
  let to: u32 = REVERSED_TOP;
  let from = input;
  const end = input + length;
  for (; from + 16 <= end; from += 16) {
    to -= 16;
    reverse16(to, from);
  }
  for (; from < end; from += 1) {
    to -= 1;
    store<u8>(to, load<u8>(from));
  }
  last = REVERSED_TOP - length;
  bits = 0;
  count = 0;
  next = REVERSED_TOP - 8;
  if (firstBit) take(firstBit);
}

export function refill(): void {
  bits |= load<u64>(next) >> count;
  next -= <u32>((63 - count) >> 3);
  count |= 56;
}

/** Up to 32 bits, and at least one. */
export function take(length: u32): u32 {
  refill();
  const value = <u32>(bits >> (64 - length));
  drop(length);
  return value;
}

export function drop(length: u32): void {
  bits <<= length;
  count -= length;
}

/** Puts the state back that a loop kept in locals. */
export function leaveBits(newBits: u64, newCount: u64, newNext: u32): void {
  bits = newBits;
  count = newCount;
  next = newNext;
}

/** Bits taken since the first byte of the input. */
export function bitsTaken(): u32 {
  return <u32>((REVERSED_TOP - 8 - next) * 8 - <u32>count);
}

/** An error behind the end of the input does not count: there were no bytes to judge. */
export function judge(status: i32): i32 {
  const end = <u32>((REVERSED_TOP - last) * 8);
  return bitsTaken() > end ? NEEDS_MORE : status;
}

/** Has the input been left so far behind that a loop has to end? */
export function isFarBehind(at: u32): bool {
  return at + 64 < last;
}
