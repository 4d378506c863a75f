import { write } from 'node:fs';
import type { KindlingError } from '../../../protocol/error.ts';
import { dataRuns, HEAD_BYTES } from '../stream/block-output.ts';
import { alignedMemory } from '../target/aligned-memory.ts';
import { ALIGNMENT, diskWriteError, type Target, writeBuffered, writeZeros } from '../target/target.ts';

/** With few of them a disk that hesitates for 20 ms holds up the cores; many workers with many would take too much memory. */
const ALL_BLOCKS = 12;
const LEAST_BLOCKS = 3;

export interface ChunkOutputOptions {
  target: Target;
  chunkSize: number;
  /** How many threads write. */
  workers: number;
  targetIsZero: boolean;
  withholdFrom: number;
  onWritten: (bytes: number) => void;
  onTail: (bytes: Buffer) => void;
}

/** Writes verified chunks while the next one is being unpacked: a few blocks take turns. */
export class ChunkOutput {
  readonly #options: ChunkOutputOptions;
  readonly #free: Buffer[];
  #inFlight = 0;
  #wake: (() => void)[] = [];
  failure: KindlingError | undefined;

  constructor(options: ChunkOutputOptions) {
    this.#options = options;
    const count = Math.max(LEAST_BLOCKS, Math.floor(ALL_BLOCKS / options.workers));
    const memory = alignedMemory(options.chunkSize * count);
    this.#free = Array.from({ length: count }, (_, i) =>
      memory.subarray(i * options.chunkSize, (i + 1) * options.chunkSize),
    );
  }

  /** A block to unpack into, or undefined while all are on their way to the disk. */
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

  /** Sends a chunk to the disk; `onLanded` is called when the disk has taken it. */
  writeChunk(block: Buffer, position: number, length: number, onLanded: () => void): void {
    const { target, targetIsZero, withholdFrom } = this.#options;
    const from = Math.min(length, Math.max(0, HEAD_BYTES - position));
    let to = length;
    if (position + to > withholdFrom) {
      to = Math.max(from, withholdFrom - position);
      this.#options.onTail(Buffer.from(block.subarray(to, length)));
    }
    let users = 1;
    const release = () => {
      users -= 1;
      if (users > 0) return;
      this.#free.push(block);
      if (!this.failure) onLanded();
      for (const wake of this.#wake.splice(0)) wake();
    };
    const odd = (position + to) % ALIGNMENT;
    if (odd !== 0 && to > from) {
      const start = Math.max(from, to - odd);
      writeBuffered(target, block.subarray(start, to), position + start);
      this.#options.onWritten(to - start);
      to = start;
    }
    for (const run of dataRuns(block, from, to)) {
      if (!run.isZero) {
        users += 1;
        this.#write(block, run.start, run.length, position + run.start, release);
      } else if (!targetIsZero) {
        writeZeros(target, position + run.start, run.length);
      }
    }
    release();
  }

  writeZeroRun(position: number, length: number): void {
    const start = Math.max(position, HEAD_BYTES);
    const end = Math.min(position + length, this.#options.withholdFrom);
    if (end > start && !this.#options.targetIsZero) writeZeros(this.#options.target, start, end - start);
  }

  /** Resolves when nothing is on its way to the disk any more. */
  async landed(): Promise<void> {
    while (this.#inFlight > 0) await this.#change();
  }

  async finish(): Promise<void> {
    await this.landed();
    if (this.failure) throw this.failure;
  }

  #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake.push(resolve);
    return promise;
  }

  #write(block: Buffer, start: number, length: number, position: number, release: () => void): void {
    this.#inFlight += 1;
    const { target } = this.#options;
    write(target.fd, block, start, length, position, (error, written) => {
      this.#inFlight -= 1;
      if (!error && written < length) {
        this.#write(block, start + written, length - written, position + written, release);
        return;
      }
      if (error) this.failure ??= diskWriteError(target.path, position, error);
      else this.#options.onWritten(length);
      release();
    });
  }
}
