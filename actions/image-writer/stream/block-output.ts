import type { Hash } from 'node:crypto';
import { KindlingError } from '../../../protocol/error.ts';
import { nodeCrypto, sha256 } from '../../../system/crypto.ts';
import { DiskOutput } from '../target/disk-output.ts';
import type { Target } from '../target/target.ts';
import { GATE_BYTES, type Withheld } from '../target/withheld.ts';

const BLOCK_BYTES = 4 * 1024 * 1024;
const BLOCK_COUNT = 4;
/** Long runs of zeros go out in one call, but not so long that progress stands still on slow devices. */
const ZERO_RUN_BYTES = 256 * 1024 * 1024;

export interface OutputOptions {
  target: Target;
  targetIsZero: boolean;
  wantsRawHash: boolean;
  /** Keep the hash of every nth block for the read-back; 0 for none. */
  hashEvery: number;
  onWritten: (bytes: number) => void;
  onRaw: (bytes: number) => void;
  onDiskWait: (ms: number) => void;
  /** Called with the first bytes, before anything is written. */
  openGate: (head: Buffer) => Promise<Withheld>;
}

export interface BlockHash {
  position: number;
  length: number;
  sha256: Buffer;
}

/** Where decoders put raw bytes: they fill `block` and commit it, and the first one opens the gate. */
export class BlockOutput {
  block: Buffer;
  filled = 0;
  /** Position on the disk of the block's first byte, for decoders that go from front to back. */
  position = 0;
  readonly blockHashes: BlockHash[] = [];
  readonly #options: OutputOptions;
  readonly #disk: DiskOutput;
  readonly #rawHash: Hash | undefined;
  #isOpen = false;
  #committed = 0;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#disk = new DiskOutput({
      target: options.target,
      blockBytes: BLOCK_BYTES,
      blockCount: BLOCK_COUNT,
      targetIsZero: options.targetIsZero,
      zeroRunBytes: ZERO_RUN_BYTES,
      onWritten: options.onWritten,
    });
    this.block = this.#disk.takeBlock() ?? Buffer.alloc(0);
    if (options.wantsRawHash) this.#rawHash = nodeCrypto().createHash('sha256');
  }

  get rawSha256(): string | undefined {
    return this.#rawHash?.digest('hex');
  }

  /** With the first bytes of the disk. Decoders that know them before they start (qcow2) come here; for others the first commit does. */
  async openGate(head: Buffer): Promise<void> {
    if (this.#isOpen) return;
    this.#disk.open(await this.#options.openGate(head));
    this.#isOpen = true;
  }

  /** Hands the filled part of the block over to the disk, at `position`, and gives a new empty block. */
  async commit(): Promise<void> {
    if (this.filled === 0) return;
    const { block, filled, position } = this;
    if (!this.#isOpen) await this.openGate(block.subarray(0, Math.min(filled, GATE_BYTES)));
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
    this.#disk.write(block, filled, position);
    this.#options.onRaw(filled);
    this.position = position + filled;
    this.filled = 0;
    this.block = await this.#nextBlock();
  }

  /** A decoder that knows of a hole says so here. */
  commitZeros(position: number, length: number): void {
    this.#disk.writeZeros(position, length);
    this.#options.onRaw(length);
  }

  /** Waits until everything is written, holes included. */
  async finish(): Promise<void> {
    await this.commit();
    await this.openGate(Buffer.alloc(0));
    const since = performance.now();
    await this.#disk.finish();
    this.#options.onDiskWait(performance.now() - since);
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

  async #nextBlock(): Promise<Buffer> {
    let block = this.#disk.takeBlock();
    if (!block) {
      const since = performance.now();
      block = await this.#disk.nextBlock();
      this.#options.onDiskWait(performance.now() - since);
    }
    if (this.#disk.failure) throw this.#disk.failure;
    return block;
  }
}
