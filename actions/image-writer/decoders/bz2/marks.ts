/** bzip2 has no specification; the format as its decompressors read it. Marks begin at any bit, members at whole bytes. */
export const BLOCK_MARK = 0x314159265359;
export const END_MARK = 0x177245385090;
export const MARK_BITS = 48;
/** Of the seven bytes a mark touches, the five in the middle are all its own: pairs of them are looked for, at every fourth byte. */
const STEP = 4;

export interface Mark {
  /** Position in the file. */
  bit: number;
  isEnd: boolean;
}

interface Candidate {
  mark: bigint;
  /** Bits before the mark in the first byte it touches. */
  shift: number;
  /** Bytes of it before the pair. */
  before: number;
}

const CANDIDATES = new Map<number, Candidate[]>();
const IS_CANDIDATE = new Uint8Array(65_536);
for (const mark of [BigInt(BLOCK_MARK), BigInt(END_MARK)]) {
  for (let shift = 0; shift < 8; shift += 1) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(mark << BigInt(64 - MARK_BITS - shift));
    for (let before = 1; before <= STEP; before += 1) {
      const pair = bytes.readUInt16BE(before);
      IS_CANDIDATE[pair] = 1;
      CANDIDATES.set(pair, [...(CANDIDATES.get(pair) ?? []), { mark, shift, before }]);
    }
  }
}

/** Finds what looks like a mark in a file that arrives piece by piece. Compressed data may look so by chance. */
export class MarkFinder {
  #next = STEP;

  /**
   * Looks on in `bytes`, which begin at byte `start` of the file and must still hold whatever mark has not been found yet. A mark is
   * found as soon as the CRC behind it is here. Of the last byte nothing is taken: marks are read eight bytes at a time.
   */
  *find(bytes: Buffer, start: number): Generator<Mark> {
    const end = bytes.length - 1 - 6;
    let at = this.#next - start;
    for (; at <= end; at += STEP) {
      const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      if (IS_CANDIDATE[pair] === 1) yield* weigh(bytes, at, pair, start);
    }
    this.#next = at + start;
  }
}

function* weigh(bytes: Buffer, at: number, pair: number, start: number): Generator<Mark> {
  for (const { mark, shift, before } of CANDIDATES.get(pair) ?? []) {
    const first = at - before;
    if (first < 0) continue;
    const found = BigInt.asUintN(MARK_BITS, bytes.readBigUInt64BE(first) >> BigInt(64 - MARK_BITS - shift));
    if (found === mark) yield { bit: (start + first) * 8 + shift, isEnd: mark === BigInt(END_MARK) };
  }
}
