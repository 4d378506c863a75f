import { SLACK } from './layout.ts';

interface Region {
  start: number;
  end: number;
  record: number;
}

export interface Place {
  at: number;
  /** How many records must have let go of their regions before this one may be used. */
  after: number;
}

/** A part of a thread's memory that records get regions of, one behind the other and round and round; they let go of them in the same order. */
export class Regions {
  readonly #start: number;
  readonly #end: number;
  #next: number;
  /** Regions that somebody may still use, the oldest first. */
  #used: Region[] = [];

  constructor(start: number, bytes: number) {
    this.#start = start;
    this.#end = start + bytes;
    this.#next = start;
  }

  /** For the record of this number; if it has to begin at the front again, then behind this many bytes. */
  place(record: number, length: number, keep = 0): Place {
    // what is in the cache already is used again, and less memory is ever touched
    if (this.#used.length === 0 && keep === 0) this.#next = this.#start;
    const isBehind = this.#next + length + SLACK <= this.#end;
    const start = isBehind ? this.#next : this.#start;
    const at = isBehind ? start : start + keep;
    if (at + length + SLACK > this.#end) throw new Error('a region is larger than its memory');
    const after = this.#lastUser(start, at + length + SLACK) + 1;
    this.#used.push({ start: at, end: at + length, record });
    this.#next = at + length;
    return { at, after };
  }

  /** The records before this one use theirs no more. */
  release(before: number): void {
    const firstUsed = this.#used.findIndex(({ record }) => record >= before);
    this.#used.splice(0, firstUsed === -1 ? this.#used.length : firstUsed);
  }

  #lastUser(start: number, end: number): number {
    return this.#used.findLast((region) => region.start < end && region.end > start)?.record ?? -1;
  }
}
