// A probability is the chance of a zero in 2048ths (LZMA specification: kNumBitModelTotalBits is 11, kNumMoveBits is 5).

export const EVEN_FOUR: u64 = 0x0400_0400_0400_0400;

/** Below this the range gets another byte of input. */
export const TOP: u32 = 1 << 24;

/** The part of the range that means a zero. */
export function boundOf(range: u32, probability: u32): u32 {
  return (range >> 11) * probability;
}

export function afterZero(probability: u32): u32 {
  return probability + ((2048 - probability) >> 5);
}

export function afterOne(probability: u32): u32 {
  return probability - (probability >> 5);
}

/** Both of the above without a branch; the shift keeps the sign, and rounds as they do. */
export function afterBit(probability: u32, isOne: bool): u32 {
  return probability - <u32>(<i32>(probability + select<u32>(0, 31 - 2048, isOne)) >> 5);
}
