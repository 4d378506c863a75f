import type { ReadAt } from '../../formats/partition-table/table.ts';

/** Bytes `start` up to, not including, `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What a file system says about its own partition; positions count from the partition's start. */
export interface FreeSpace {
  /** Where the file system ends. */
  end: number;
  /** Sorted, not overlapping: nothing in them is in use. */
  free: ByteRange[];
}

/**
 * Reads a file system's own allocation structures. Throws `Doubt` for whatever it does not know for certain: a block that is in use must
 * never be taken for a free one, a free one that is kept costs only bytes.
 */
export type FreeSpaceReader = (partition: PartitionReader) => Promise<FreeSpace>;

/** Why all of a file system is kept: "its log is not clean". */
export class Doubt extends Error {}

export function doubtUnless(isSure: boolean, why: string): asserts isSure {
  if (!isSure) throw new Doubt(why);
}

/** One partition of an image; a read beyond its end is a doubt. */
export class PartitionReader {
  /** The allocation table of a FAT with very many clusters is the longest thing that is read at once. */
  static readonly maxRead = 256 * 1024 * 1024;
  readonly size: number;
  readonly #readAt: ReadAt;
  readonly #start: number;

  constructor(readAt: ReadAt, start: number, size: number) {
    this.#readAt = readAt;
    this.#start = start;
    this.size = size;
  }

  async read(position: number, length: number): Promise<Buffer> {
    const isInside = position >= 0 && position + length <= this.size && length <= PartitionReader.maxRead;
    doubtUnless(isInside, 'it points beyond its partition');
    const bytes = await this.#readAt(this.#start + position, length);
    doubtUnless(bytes.length === length, 'it is cut short');
    return bytes;
  }
}

/** Adds a range behind the ones before it; joins it to the last if they touch. */
export function addRange(ranges: ByteRange[], start: number, end: number): void {
  const last = ranges.at(-1);
  if (last?.end === start) last.end = end;
  else ranges.push({ start, end });
}

/** A 64-bit number that has to be a position or a count of something that fits on a disk. */
export function safeNumber(value: bigint): number {
  doubtUnless(value <= BigInt(Number.MAX_SAFE_INTEGER), 'its numbers make no sense');
  return Number(value);
}
