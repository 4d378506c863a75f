/** bzip2 has no specification; the format as its decompressors read it. Marks begin at any bit, members at whole bytes. */
const BLOCK = 0x314159265359n;
export const BZ2_END = 0x177245385090n;
const MARK_BITS = 48;
/** A mark, the CRC behind it, bits up to the next byte, and the first bytes of another member: «BZh9». */
const LOOK_AHEAD = 15;
const KEPT = 32;
/** Of the seven bytes a mark touches, the five in the middle are all its own: pairs of them are looked for, at every fourth byte. */
const WINDOW_BYTES = 7;
const STEP = 4;

interface Candidate {
  mark: bigint;
  /** Bits before the mark in the first byte of its window. */
  shift: number;
  /** Bytes of the window before the pair. */
  before: number;
}

const CANDIDATES = new Map<number, Candidate[]>();
const IS_CANDIDATE = new Uint8Array(65_536);
for (const mark of [BLOCK, BZ2_END]) {
  for (let shift = 0; shift < 8; shift += 1) {
    const window = Buffer.alloc(8);
    window.writeBigUInt64BE(mark << BigInt(64 - MARK_BITS - shift));
    for (let before = 1; before <= STEP; before += 1) {
      const pair = window.readUInt16BE(before);
      IS_CANDIDATE[pair] = 1;
      CANDIDATES.set(pair, [...(CANDIDATES.get(pair) ?? []), { mark, shift, before }]);
    }
  }
}

/**
 * Looks at a bzip2 file that passes by: does each member follow the one before? Decompressors take a member whose first bytes are damaged for
 * the end of the file, and all but one say nothing. A mark by chance is no harm: the end of a member counts only with the CRC of its blocks.
 */
export class Bz2Members {
  /** Something that is no member follows one. */
  isBroken = false;
  #position = 0;
  #kept = Buffer.alloc(0);
  #lastMark = -1;
  #crc = 0;
  #zerosFrom = Number.MAX_SAFE_INTEGER;

  look(bytes: Buffer): void {
    const joined = Buffer.concat([this.#kept, bytes.subarray(0, KEPT)]);
    this.#scan(joined, this.#position - this.#kept.length);
    this.#scan(bytes, this.#position);
    const zerosAt = Math.max(0, this.#zerosFrom - this.#position);
    if (zerosAt < bytes.length && bytes.subarray(zerosAt).some((byte) => byte !== 0)) this.isBroken = true;
    this.#position += bytes.length;
    this.#kept = Buffer.concat([this.#kept, bytes.subarray(-KEPT)]).subarray(-KEPT);
  }

  #scan(bytes: Buffer, position: number): void {
    for (let at = 0; at + 1 < bytes.length; at += STEP) {
      const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      if (IS_CANDIDATE[pair] === 1) this.#weigh(bytes, position, at, pair);
    }
  }

  #weigh(bytes: Buffer, position: number, at: number, pair: number): void {
    for (const { mark, shift, before } of CANDIDATES.get(pair) ?? []) {
      const start = at - before;
      const bit = (position + start) * 8 + shift;
      if (start < 0 || start + LOOK_AHEAD > bytes.length || bit <= this.#lastMark) continue;
      const window = bytes.readBigUInt64BE(start);
      if (BigInt.asUintN(MARK_BITS, window >> BigInt(64 - MARK_BITS - shift)) !== mark) continue;
      this.#lastMark = bit;
      const crcAt = start + WINDOW_BYTES - 1;
      const crc = Number(BigInt.asUintN(32, bytes.readBigUInt64BE(crcAt) >> BigInt(32 - shift)));
      if (mark === BLOCK) this.#crc = (((this.#crc << 1) | (this.#crc >>> 31)) ^ crc) >>> 0;
      else if (crc === this.#crc) this.#endMember(bytes, position, start + (shift === 0 ? 10 : 11));
    }
  }

  #endMember(bytes: Buffer, position: number, next: number): void {
    this.#crc = 0;
    if (/^BZh[1-9]/.test(bytes.toString('latin1', next, next + 4))) return;
    // zeros may fill a block up to its end; anything else is a member that has lost its name
    if (bytes[next] === 0) this.#zerosFrom = position + next;
    else this.isBroken = true;
  }
}
