import type { RingReader } from '../../stream/ring.ts';
import type { Mark, MarkFinder } from './marks.ts';

const PIECE = 256 * 1024;
const FIRST_SIZE = 512 * 1024;
/** Reads of eight bytes may reach beyond the last byte. */
const SLACK = 8;

/** The part of the file between what is written and what has come, and the marks in it. */
export class Window {
  readonly #input: RingReader;
  readonly #finder: MarkFinder;
  #bytes = Buffer.alloc(FIRST_SIZE);
  /** Position in the file of the first byte that is kept, and where in `#bytes` it and the last one lie. */
  #start = 0;
  #from = 0;
  #to = 0;
  /** Marks that no block has been made of yet, in order. */
  readonly marks: Mark[] = [];
  /** The last mark of all that was found. */
  lastMark: Mark | undefined;
  hasEnded = false;

  constructor(input: RingReader, finder: MarkFinder) {
    this.#input = input;
    this.#finder = finder;
  }

  /** Bytes that have come so far. */
  get end(): number {
    return this.#start + this.#to - this.#from;
  }

  /** Takes the next piece, and waits for it if it may. Answers whether there was one. */
  fill(canWait: boolean): boolean {
    if (this.hasEnded || !(canWait || this.#input.hasNext())) return false;
    const piece = this.#input.next(PIECE);
    if (!piece) {
      this.hasEnded = true;
      return false;
    }
    this.#makeRoom(piece.length);
    this.#input.memory.copy(this.#bytes, this.#to, piece.at, piece.at + piece.length);
    this.#to += piece.length;
    this.#input.consume(piece.length);
    for (const mark of this.#finder.find(this.#bytes.subarray(this.#from, this.#to + 1), this.#start)) {
      this.marks.push(mark);
      this.lastMark = mark;
    }
    return true;
  }

  /** Waits until the file up to this byte is here; false if it ends before. */
  reach(end: number): boolean {
    while (this.end < end) if (!this.fill(true)) return false;
    return true;
  }

  /** Up to 48 bits from any bit on; undefined where the file ends before. */
  bits(at: number, length: number): number | undefined {
    if (!this.reach(Math.ceil((at + length) / 8))) return undefined;
    const eight = this.#bytes.readBigUInt64BE(this.#place(Math.floor(at / 8)));
    return Number(BigInt.asUintN(length, eight >> BigInt(64 - length - (at % 8))));
  }

  /** What is here from one byte of the file to another. */
  bytes(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.#place(from), Math.min(this.#place(to), this.#to));
  }

  /** Nobody will ask for anything before this byte again. */
  forget(before: number): void {
    this.#from = this.#place(before);
    this.#start = before;
  }

  #place(byte: number): number {
    return this.#from + byte - this.#start;
  }

  #makeRoom(length: number): void {
    if (this.#to + length + SLACK <= this.#bytes.length) return;
    const kept = this.#to - this.#from;
    // moving is cheap only if there is little to move
    const isTooSmall = (kept + length) * 2 > this.#bytes.length;
    const target = isTooSmall ? Buffer.alloc(this.#bytes.length * 2) : this.#bytes;
    this.#bytes.copy(target, 0, this.#from, this.#to);
    this.#bytes = target;
    this.#from = 0;
    this.#to = kept;
  }
}
