import type { Target } from './target.ts';

/** The start of the disk that is withheld until everything is verified: boot sector and partition table. */
export const HEAD_BYTES = 1024 * 1024;
/** How much of an image is looked at before the first write: a first partition at 1 MiB, and what is at its start, is in it. */
export const GATE_BYTES = 2 * HEAD_BYTES;

/** Shared by all threads that write. */
export interface WithheldMemory {
  head: SharedArrayBuffer;
  tail: SharedArrayBuffer;
  tailAt: number;
}

/** What the disk gets last. */
export interface WithheldParts {
  /** The first MiB of the image, or all of a shorter one. */
  head: Buffer;
  /** What the image has from `tailAt` on. */
  tail: Buffer;
  tailAt: number;
}

/** What of an image the disk does not get before everything is verified: its start, and the last sector of the disk. */
export class Withheld {
  readonly memory: WithheldMemory;
  readonly #head: Buffer;
  readonly #tail: Buffer;

  constructor(memory: WithheldMemory) {
    this.memory = memory;
    this.#head = Buffer.from(memory.head);
    this.#tail = Buffer.from(memory.tail);
  }

  /** The last sector is where a backup table makes a disk boot; an image may count in longer sectors than the disk. */
  static of({ size, sectorSize }: Pick<Target, 'size' | 'sectorSize'>, imageSectorSize = 0): Withheld {
    const sector = Math.max(sectorSize, imageSectorSize);
    const tailAt = Math.max(0, (Math.floor(size / sector) - 1) * sector);
    return new Withheld({
      head: new SharedArrayBuffer(HEAD_BYTES),
      tail: new SharedArrayBuffer(size - tailAt),
      tailAt,
    });
  }

  get tailAt(): number {
    return this.memory.tailAt;
  }

  /** Keeps what of these bytes is withheld. Those from `from` to `to` are not: the disk may have them now. */
  keep(bytes: Buffer, position: number): { from: number; to: number } {
    const from = Math.min(bytes.length, Math.max(0, HEAD_BYTES - position));
    if (from > 0) bytes.copy(this.#head, position, 0, from);
    const cut = Math.max(0, this.tailAt - position);
    if (cut < bytes.length) bytes.copy(this.#tail, position + cut - this.tailAt, cut);
    return { from, to: Math.max(from, Math.min(cut, bytes.length)) };
  }

  /** Puts what is withheld over bytes that were read from the disk, which does not have it yet. */
  overlay(bytes: Buffer, position: number): Buffer {
    if (position < HEAD_BYTES) this.#head.copy(bytes, 0, position);
    if (position + bytes.length > this.tailAt) {
      this.#tail.copy(bytes, Math.max(0, this.tailAt - position), Math.max(0, position - this.tailAt));
    }
    return bytes;
  }

  /** As much of it as an image of this length has. */
  parts(imageLength: number): WithheldParts {
    const { tailAt } = this;
    return {
      head: Buffer.from(this.#head.subarray(0, imageLength)),
      tail: Buffer.from(this.#tail.subarray(0, Math.max(0, imageLength - tailAt))),
      tailAt,
    };
  }
}
