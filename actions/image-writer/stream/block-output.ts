import type { Hash } from 'node:crypto';
import { write } from 'node:fs';
import { KindlingError } from '../../../protocol/error.ts';
import { nodeCrypto, sha256 } from '../../../system/crypto.ts';
import { alignedMemory } from '../target/aligned-memory.ts';
import { ALIGNMENT, diskWriteError, type Target, writeBuffered, writeZeros } from '../target/target.ts';

const BLOCK_BYTES = 4 * 1024 * 1024;
/** The start of the disk that is withheld until everything is verified: boot sector and partition table. */
export const HEAD_BYTES = 1024 * 1024;
/** So much of an image is looked at before the first write: a first partition at 1 MiB, and what is at its start, is in it. */
export const GATE_BYTES = 2 * HEAD_BYTES;
const BLOCK_COUNT = 4;
const ZERO_GRANULE = 64 * 1024;
const ZEROS = Buffer.alloc(ZERO_GRANULE);
/** Long runs of zeros go out in one call, but not so long that progress stands still on slow devices. */
const MAX_ZERO_RUN = 256 * 1024 * 1024;

export interface OutputOptions {
  target: Target;
  targetIsZero: boolean;
  wantsRawHash: boolean;
  /** Keep the hash of every nth block for the read-back; 0 for none. */
  hashEvery: number;
  onWritten: (bytes: number) => void;
  onRaw: (bytes: number) => void;
  onDiskWait: (ms: number) => void;
  /** Called with the first bytes, before anything is written; says from which byte on the end is withheld too. */
  openGate: (head: Buffer) => Promise<{ withholdFrom: number }>;
}

export interface BlockHash {
  position: number;
  length: number;
  sha256: Buffer;
}

/**
 * Where decoders put raw bytes: they fill `block` and commit it. Writing overlaps with decoding (the blocks take
 * turns), zeros are skipped or written as such, the first MiB is withheld.
 */
export class BlockOutput {
  block: Buffer;
  filled = 0;
  /** Position on the disk of the block's first byte, for decoders that go from front to back. */
  position = 0;
  readonly head = Buffer.alloc(HEAD_BYTES);
  tail = Buffer.alloc(0);
  readonly blockHashes: BlockHash[] = [];
  #options: OutputOptions;
  #free: Buffer[];
  #inFlight = 0;
  #wake: (() => void) | undefined;
  #failure: KindlingError | undefined;
  #gate: { withholdFrom: number } | undefined;
  #zeroRun = { start: 0, length: 0 };
  #rawHash: Hash | undefined;
  #committed = 0;

  constructor(options: OutputOptions) {
    this.#options = options;
    const memory = alignedMemory(BLOCK_BYTES * BLOCK_COUNT);
    this.#free = Array.from({ length: BLOCK_COUNT }, (_, i) =>
      memory.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES),
    );
    this.block = this.#takeFree();
    if (options.wantsRawHash) this.#rawHash = nodeCrypto().createHash('sha256');
  }

  get rawSha256(): string | undefined {
    return this.#rawHash?.digest('hex');
  }

  /** For decoders that know the first bytes before they start (qcow2): passes the gate with it. */
  async openGate(head: Buffer): Promise<void> {
    this.#gate ??= await this.#options.openGate(head);
  }

  /** Hands the filled part of the block over to the disk, at `position`, and gives a new empty block. */
  async commit(): Promise<void> {
    if (this.filled === 0) return;
    const { block, filled, position } = this;
    this.#gate ??= await this.#options.openGate(block.subarray(0, Math.min(filled, GATE_BYTES)));
    const { target } = this.#options;
    if (position + filled > target.size) {
      throw new KindlingError(
        'KND_IMAGE_TOO_LARGE',
        `the image goes beyond the end of ${target.path} (${target.size} bytes)`,
      );
    }
    const bytes = block.subarray(0, filled);
    this.#rawHash?.update(bytes);
    this.#noteHash(bytes, position);
    this.#schedule(block, bytes, position, this.#gate.withholdFrom);
    this.#options.onRaw(filled);
    this.position = position + filled;
    this.filled = 0;
    await this.#nextBlock();
  }

  /** A decoder that knows of a hole says so here. */
  commitZeros(position: number, length: number): void {
    const start = Math.max(position, HEAD_BYTES);
    const end = Math.min(position + length, this.#gate?.withholdFrom ?? 0);
    if (end > start) this.#zero(start, end - start);
    this.#options.onRaw(length);
  }

  /** Waits until everything is written, holes included. */
  async finish(): Promise<void> {
    await this.commit();
    if (!this.#gate) await this.openGate(Buffer.alloc(0));
    this.#flushZeros();
    while (this.#inFlight > 0) await this.#landed();
    if (this.#failure) throw this.#failure;
  }

  #schedule(block: Buffer, bytes: Buffer, position: number, withholdFrom: number): void {
    let from = 0;
    let to = bytes.length;
    if (position < HEAD_BYTES) {
      from = Math.min(to, HEAD_BYTES - position);
      bytes.copy(this.head, position, 0, from);
    }
    if (position + to > withholdFrom) {
      const cut = Math.max(0, withholdFrom - position);
      this.tail = Buffer.concat([this.tail, bytes.subarray(cut, to)]);
      to = Math.max(from, cut);
    }
    // what is not a multiple of the page at the very end goes through the page cache
    const odd = (position + to) % ALIGNMENT;
    if (odd !== 0 && to > from) {
      const start = Math.max(from, to - odd);
      writeBuffered(this.#options.target, bytes.subarray(start, to), position + start);
      this.#options.onWritten(to - start);
      to = start;
    }
    let users = 1;
    const release = () => {
      users -= 1;
      if (users > 0) return;
      this.#free.push(block);
      this.#wake?.();
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

  #write(bytes: Buffer, start: number, length: number, position: number, release: () => void): void {
    this.#inFlight += 1;
    const { target } = this.#options;
    write(target.fd, bytes, start, length, position, (error, written) => {
      if (!error && written < length) {
        this.#inFlight -= 1;
        this.#write(bytes, start + written, length - written, position + written, release);
        return;
      }
      this.#inFlight -= 1;
      if (error) this.#failure ??= diskWriteError(target.path, position, error);
      else this.#options.onWritten(length);
      release();
      this.#wake?.();
    });
  }

  #zero(start: number, length: number): void {
    if (this.#options.targetIsZero) return;
    const run = this.#zeroRun;
    if (run.start + run.length === start && run.length < MAX_ZERO_RUN) {
      run.length += length;
      return;
    }
    this.#flushZeros();
    this.#zeroRun = { start, length };
  }

  #flushZeros(): void {
    const { start, length } = this.#zeroRun;
    if (length > 0) writeZeros(this.#options.target, start, length);
    this.#zeroRun = { start: 0, length: 0 };
  }

  #noteHash(bytes: Buffer, position: number): void {
    const { hashEvery } = this.#options;
    const index = this.#committed;
    this.#committed += 1;
    if (hashEvery === 0 || index % hashEvery !== 0) return;
    this.blockHashes.push({
      position,
      length: bytes.length,
      sha256: sha256(bytes),
    });
  }

  #takeFree(): Buffer {
    const block = this.#free.pop();
    if (!block) throw new Error('no free block');
    return block;
  }

  async #nextBlock(): Promise<void> {
    while (this.#free.length === 0) await this.#landed();
    if (this.#failure) throw this.#failure;
    this.block = this.#takeFree();
  }

  async #landed(): Promise<void> {
    const since = performance.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await promise;
    this.#wake = undefined;
    this.#options.onDiskWait(performance.now() - since);
  }
}

/** Splits bytes into runs of zeros and runs of data, at 64 KiB granularity. */
export function dataRuns(
  bytes: Buffer,
  from: number,
  to: number,
): { start: number; length: number; isZero: boolean }[] {
  const runs: { start: number; length: number; isZero: boolean }[] = [];
  for (let start = from; start < to; start += ZERO_GRANULE) {
    const length = Math.min(ZERO_GRANULE, to - start);
    const isZero = bytes[start] === 0 && ZEROS.compare(bytes, start, start + length, 0, length) === 0;
    const last = runs.at(-1);
    if (last?.isZero === isZero) last.length += length;
    else runs.push({ start, length, isZero });
  }
  return runs;
}
