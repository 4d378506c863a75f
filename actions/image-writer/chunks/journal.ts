import { fdatasync, write } from 'node:fs';
import { promisify } from 'node:util';
import { sha256 } from '../../../system/crypto.ts';
import { alignedMemory } from '../target/aligned-memory.ts';
import { ALIGNMENT, diskWriteError, type Target, tryReadRange } from '../target/target.ts';
import { type ChunkTable, STATE } from './chunk-table.ts';

const syncData = promisify(fdatasync);
const writeAt = promisify(write);

const MAGIC = 'KNDLJRN1';
/** magic 8, sequence 4, chunk count 4, root 32, then the bitmap, then the SHA-256 of all of it. */
const HEADER_BYTES = 48;
/**
 * The journal lies in the first MiB of the disk, which is withheld until the end anyway: that place exists on every
 * disk, whatever the size of the image, and the boot sector that is written last takes the journal away with it. Two
 * slots take turns, so that a power cut while one is written leaves the other.
 */
const SLOTS = [256 * 1024, 640 * 1024] as const;
const SLOT_BYTES = 384 * 1024;
const INTERVAL_MS = 2000;

/** Which chunks of which manifest are on the disk, kept on the disk itself: a power cut costs two seconds of work. */
export class ChunkJournal {
  readonly #target: Target;
  readonly #table: ChunkTable;
  readonly #root: string;
  readonly #buffer: Buffer;
  readonly #timer: NodeJS.Timeout;
  #sequence = 0;
  #running: Promise<void> | undefined;

  constructor(target: Target, table: ChunkTable, root: string, sequence = 0, intervalMs = INTERVAL_MS) {
    this.#target = target;
    this.#table = table;
    this.#root = root;
    this.#sequence = sequence;
    this.#buffer = alignedMemory(recordBytes(table.count));
    this.#timer = setInterval(() => {
      // without its journal the write only starts again after a power cut; what the disk cannot take, the write finds out
      this.#running ??= this.save()
        .catch(() => {})
        .finally(() => {
          this.#running = undefined;
        });
    }, intervalMs);
    this.#timer.unref();
  }

  /** The chunks are synced before the journal says that they are there. */
  async save(): Promise<void> {
    const { fd, path } = this.#target;
    const done = encodeBits(this.#table);
    const slot = SLOTS[this.#sequence % 2 ? 1 : 0];
    try {
      await syncData(fd);
      this.#sequence += 1;
      encodeJournal(this.#buffer, this.#root, this.#sequence, this.#table.count, done);
      await writeAt(fd, this.#buffer, 0, this.#buffer.length, slot);
    } catch (cause) {
      throw diskWriteError(path, slot, cause);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}

export interface FoundJournal {
  sequence: number;
  done: Buffer;
}

/** What an interrupted write of the same manifest left on the disk. */
export function readJournal(target: Target, root: string, count: number): FoundJournal | undefined {
  const length = recordBytes(count);
  if (length > SLOT_BYTES || target.size < SLOTS[1] + SLOT_BYTES) return undefined;
  const found = SLOTS.map((position) => tryReadRange(target, alignedMemory(length), position, length))
    .map((record) => decodeJournal(record, root, count))
    .filter((journal) => journal !== undefined);
  return found.sort((a, b) => b.sequence - a.sequence)[0];
}

export const fitsJournal = (count: number): boolean => recordBytes(count) <= SLOT_BYTES;

function recordBytes(count: number): number {
  return Math.ceil((HEADER_BYTES + Math.ceil(count / 8) + 32) / ALIGNMENT) * ALIGNMENT;
}

function encodeBits(table: ChunkTable): Buffer {
  const bits = Buffer.alloc(Math.ceil(table.count / 8));
  for (let i = 0; i < table.count; i += 1) {
    if (Atomics.load(table.states, i) === STATE.done) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
  }
  return bits;
}

export function encodeJournal(
  into: Buffer,
  root: string,
  sequence: number,
  count: number,
  done: Buffer,
): void {
  into.fill(0);
  into.write(MAGIC, 0, 'latin1');
  into.writeUInt32LE(sequence, 8);
  into.writeUInt32LE(count, 12);
  into.write(root, 16, 'hex');
  done.copy(into, HEADER_BYTES);
  const end = HEADER_BYTES + done.length;
  sha256(into.subarray(0, end)).copy(into, end);
}

export function decodeJournal(record: Buffer, root: string, count: number): FoundJournal | undefined {
  const end = HEADER_BYTES + Math.ceil(count / 8);
  if (record.length < end + 32 || record.toString('latin1', 0, 8) !== MAGIC) return undefined;
  if (record.readUInt32LE(12) !== count || record.toString('hex', 16, 48) !== root) return undefined;
  if (!sha256(record.subarray(0, end)).equals(record.subarray(end, end + 32))) return undefined;
  return { sequence: record.readUInt32LE(8), done: Buffer.from(record.subarray(HEADER_BYTES, end)) };
}
