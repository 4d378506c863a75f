// Sixteen bytes at a time where the processor has vectors (x86 since SSE 4.1), else eight: V8 compiles nothing that it
// could not run, so there are two machines, and each of these functions is decided on when they are built.

export function fill16(to: u32, byte: u32): void {
  if (ASC_FEATURE_SIMD) {
    v128.store(to, i8x16.splat(<u8>byte));
  } else {
    const four = byte * 0x0101_0101;
    store<u64>(to, ((<u64>four) << 32) | four);
    store<u64>(to, ((<u64>four) << 32) | four, 8);
  }
}

export function copy16(to: u32, from: u32): void {
  if (ASC_FEATURE_SIMD) {
    v128.store(to, v128.load(from));
  } else {
    store<u64>(to, load<u64>(from));
    store<u64>(to, load<u64>(from, 8), 8);
  }
}

export function reverse16(to: u32, from: u32): void {
  if (ASC_FEATURE_SIMD) {
    const v = v128.load(from);
    // biome-ignore format: one row
    v128.store(to, i8x16.shuffle(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  } else {
    store<u64>(to, bswap<u64>(load<u64>(from)), 8);
    store<u64>(to, bswap<u64>(load<u64>(from, 8)));
  }
}

/** Four words, each larger by `step` than the one before. */
export function storeFour(to: u32, first: u32, step: u32): void {
  if (ASC_FEATURE_SIMD) {
    v128.store(to, i32x4.add(i32x4.splat(first), i32x4.mul(i32x4.splat(step), i32x4(0, 1, 2, 3))));
  } else {
    store<u32>(to, first);
    store<u32>(to, first + step, 4);
    store<u32>(to, first + 2 * step, 8);
    store<u32>(to, first + 3 * step, 12);
  }
}

/** Where among the next 16 bytes four equal ones begin; a bit for each place. */
export function findRuns(at: u32): u32 {
  if (ASC_FEATURE_SIMD) {
    const v1 = v128.load(at, 1);
    const v2 = v128.load(at, 2);
    const pairs = v128.and(i8x16.eq(v128.load(at), v1), i8x16.eq(v1, v2));
    return i8x16.bitmask(v128.and(pairs, i8x16.eq(v2, v128.load(at, 3))));
  }
  for (let place: u32 = 0; place < 16; place += 1) {
    const four = load<u32>(at + place);
    if (four === rotl<u32>(four, 8)) return 1 << place;
  }
  return 0;
}
