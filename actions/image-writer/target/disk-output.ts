import { write } from 'node:fs';
import type { KindlingError } from '../../../protocol/error.ts';
import { alignedMemory } from './aligned-memory.ts';
import { dataRuns } from './data-runs.ts';
import { ALIGNMENT, diskWriteError, type Target, writeBuffered, writeZeros } from './target.ts';
import { HEAD_BYTES, type Withheld } from './withheld.ts';

export interface DiskOutputOptions {
  target: Target;
  blockBytes: number;
  /** How many blocks take turns: while one is filled, others are on their way to the disk. */
  blockCount: number;
  /** The disk reads as zeros already: zeros are not written. */
  targetIsZero: boolean;
  /** Adjacent zeros go out in one command of about this size; 0: each at once, because its caller notes what is written. */
  zeroRunBytes: number;
  onWritten: (bytes: number) => void;
}

/**
 * The one way of an image to the disk, a block at a time: what is withheld stays in memory, zeros are skipped or written as such, the
 * rest is written past the page cache while the next block is being filled.
 */
export class DiskOutput {
  readonly #options: DiskOutputOptions;
  readonly #free: Buffer[];
  #withheld: Withheld | undefined;
  #inFlight = 0;
  #wake: (() => void)[] = [];
  #zeroRun = { start: 0, length: 0 };
  failure: KindlingError | undefined;

  constructor(options: DiskOutputOptions) {
    this.#options = options;
    const { blockBytes, blockCount } = options;
    const memory = alignedMemory(blockBytes * blockCount);
    this.#free = Array.from({ length: blockCount }, (_, i) =>
      memory.subarray(i * blockBytes, (i + 1) * blockBytes),
    );
  }

  /** From here on the disk may be written to, but for this. */
  open(withheld: Withheld): void {
    this.#withheld = withheld;
  }

  /** A block to fill, or undefined while all are on their way to the disk. */
  takeBlock(): Buffer | undefined {
    return this.#free.pop();
  }

  /** The same, as soon as there is one. */
  async nextBlock(): Promise<Buffer> {
    await this.blockFreed();
    return this.#free.pop() ?? this.nextBlock();
  }

  giveBack(block: Buffer): void {
    this.#free.push(block);
  }

  async blockFreed(): Promise<void> {
    while (this.#free.length === 0) await this.#change();
  }

  /** Sends the first bytes of a block to the disk and takes the block back; `onLanded` is called when the disk has them. */
  write(block: Buffer, length: number, position: number, onLanded?: () => void): void {
    const { target, onWritten } = this.#options;
    const bytes = block.subarray(0, length);
    let { from, to } = this.#gate().keep(bytes, position);
    // what is not a multiple of the page at the very end goes through the page cache
    const odd = (position + to) % ALIGNMENT;
    if (odd !== 0 && to > from) {
      const start = Math.max(from, to - odd);
      writeBuffered(target, bytes.subarray(start, to), position + start);
      onWritten(to - start);
      to = start;
    }
    let users = 1;
    const release = () => {
      users -= 1;
      if (users > 0) return;
      this.#free.push(block);
      if (!this.failure) onLanded?.();
      for (const wake of this.#wake.splice(0)) wake();
    };
    for (const run of dataRuns(bytes, from, to)) {
      if (run.isZero) {
        this.#zero(position + run.start, run.length);
      } else {
        users += 1;
        this.#write(bytes, run.start, run.length, position + run.start, release);
      }
    }
    release();
  }

  /** A hole in the image. */
  writeZeros(position: number, length: number): void {
    const start = Math.max(position, HEAD_BYTES);
    const end = Math.min(position + length, this.#gate().tailAt);
    if (end > start) this.#zero(start, end - start);
  }

  /** Resolves when nothing is on its way to the disk any more. */
  async landed(): Promise<void> {
    while (this.#inFlight > 0) await this.#change();
  }

  /** Waits until everything is written, holes included. */
  async finish(): Promise<void> {
    this.#flushZeros();
    await this.landed();
    if (this.failure) throw this.failure;
  }

  #gate(): Withheld {
    if (!this.#withheld) throw new Error('nothing may be written to this disk yet');
    return this.#withheld;
  }

  #write(bytes: Buffer, start: number, length: number, position: number, release: () => void): void {
    this.#inFlight += 1;
    const { target, onWritten } = this.#options;
    write(target.fd, bytes, start, length, position, (error, written) => {
      this.#inFlight -= 1;
      if (!error && written < length) {
        this.#write(bytes, start + written, length - written, position + written, release);
        return;
      }
      if (error) this.failure ??= diskWriteError(target.path, position, error);
      else onWritten(length);
      release();
    });
  }

  #zero(start: number, length: number): void {
    const { targetIsZero, zeroRunBytes } = this.#options;
    if (targetIsZero) return;
    const run = this.#zeroRun;
    if (run.start + run.length === start) {
      run.length += length;
    } else {
      this.#flushZeros();
      this.#zeroRun = { start, length };
    }
    if (this.#zeroRun.length >= zeroRunBytes) this.#flushZeros();
  }

  #flushZeros(): void {
    const { start, length } = this.#zeroRun;
    if (length > 0) writeZeros(this.#options.target, start, length);
    this.#zeroRun = { start: 0, length: 0 };
  }

  #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake.push(resolve);
    return promise;
  }
}
