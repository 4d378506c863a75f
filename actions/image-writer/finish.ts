import { setImmediate as nextTurn } from 'node:timers/promises';
import { moveBackupGpt } from '../../formats/partition-table/gpt-backup.ts';
import { type ImageTable, readImageTable } from '../../formats/partition-table/image-table.ts';
import { findMbrSectorSize } from '../../formats/partition-table/mbr-sector-size.ts';
import { KindlingError } from '../../protocol/error.ts';
import { sha256 as hash, nodeCrypto } from '../../system/crypto.ts';
import { checkNotNested } from './formats.ts';
import type { ImageFormat } from './interface.ts';
import { type BlockHash, HEAD_BYTES } from './stream/block-output.ts';
import { alignedMemory } from './target/aligned-memory.ts';
import {
  ALIGNMENT,
  readRange,
  syncTarget,
  type Target,
  tryReadRange,
  writeBuffered,
  writeZeros,
} from './target/target.ts';

const READ_BYTES = 4 * 1024 * 1024;

/** The table of an image; without a sector size where nobody can know it. */
export type FoundTable = Omit<ImageTable, 'sectorSize'> & { sectorSize: number | undefined };

/** What the first bytes tell, before anything is written: does this image fit this disk? */
export async function checkHead(
  head: Buffer,
  format: ImageFormat,
  target: Target,
  source: string,
): Promise<FoundTable | undefined> {
  checkNotNested(head, format, source);
  const table = await findTable(head, target.sectorSize);
  if (!table) return undefined;
  const { sectorSize = target.sectorSize } = table;
  if (sectorSize !== target.sectorSize && target.isBlockDevice) {
    throw new KindlingError(
      'KND_IMAGE_SECTOR_SIZE',
      `${source} was made for ${sectorSize}-byte sectors, ${target.path} has ${target.sectorSize}-byte sectors`,
    );
  }
  checkFits(table.neededBytes, target, source);
  return table;
}

/** An MBR counts in sectors of a size that only its partitions tell, if anything does. */
async function findTable(head: Buffer, preferred: number): Promise<FoundTable | undefined> {
  const table = readImageTable(head, preferred);
  if (table?.kind !== 'mbr') return table;
  const sectorSize = await findMbrSectorSize(head);
  const neededBytes = (table.neededBytes / table.sectorSize) * (sectorSize ?? table.sectorSize);
  return { kind: 'mbr', sectorSize, neededBytes };
}

export function checkFits(bytes: number, target: Target, source: string): void {
  if (bytes <= target.size) return;
  throw new KindlingError(
    'KND_IMAGE_TOO_LARGE',
    `${source} needs ${bytes} bytes, ${target.path} has ${target.size}`,
    { evidence: { needed: bytes, available: target.size } },
  );
}

/**
 * An image that ends where the disk ends brings its backup table along, and firmware may boot from that alone: then
 * its header (the last sector) is withheld like the first MiB.
 */
export function withholdFrom(table: FoundTable | undefined, target: Target): number {
  const { kind, sectorSize = target.sectorSize, neededBytes = 0 } = table ?? {};
  const isAtEnd = kind === 'gpt' && neededBytes > target.size - sectorSize;
  return isAtEnd ? neededBytes - sectorSize : Number.MAX_SAFE_INTEGER;
}

/**
 * From here on nothing on this disk boots: no boot sector, no table, no backup of it. `keepUntil` spares what a delta
 * keeps at the end of the disk; the last sector, where a backup table would be found, goes in any case.
 */
export function makeUnbootable(target: Target, keepUntil = 0): void {
  const head = Math.min(HEAD_BYTES, target.size);
  writeZeros(target, 0, head);
  const tail = Math.max(head, target.size - HEAD_BYTES, keepUntil);
  const start = Math.ceil(tail / ALIGNMENT) * ALIGNMENT;
  if (start < target.size) writeZeros(target, start, target.size - start);
  const lastSector = target.size - target.sectorSize;
  if (lastSector > head) writeBuffered(target, Buffer.alloc(target.sectorSize), lastSector);
  syncTarget(target);
}

/** Everything is verified: now the disk gets its table, the backup first, the first MiB last. Answers whether the backup moved. */
export function makeBootable(
  target: Target,
  parts: { head: Buffer; headLength: number; tail: Buffer; tailAt: number; moveBackup: boolean },
): boolean {
  syncTarget(target);
  const head = parts.head.subarray(0, parts.headLength);
  const moved = parts.moveBackup ? moveBackupGpt(head, target.size, target.sectorSize) : undefined;
  if (parts.tail.length > 0) writeBuffered(target, parts.tail, parts.tailAt);
  if (moved) writeBuffered(target, moved.backup.bytes, moved.backup.position);
  syncTarget(target);
  writeBuffered(target, moved?.head ?? head, 0);
  syncTarget(target);
  return moved !== undefined;
}

/** Reads blocks back past the page cache and compares their hashes. In between others have their turn: progress, a cancellation. */
export async function readBack(
  target: Target,
  blocks: readonly BlockHash[],
  withheldFrom: number,
  onShare: (share: number) => void,
): Promise<void> {
  const buffer = alignedMemory(READ_BYTES);
  for (const [index, { position, length, sha256 }] of blocks.entries()) {
    // what is withheld is not on the disk yet
    if (position < HEAD_BYTES || position + length > withheldFrom) continue;
    const aligned = Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    const found = tryReadRange(target, buffer, position, Math.min(aligned, target.size - position));
    if (!hash(found.subarray(0, length)).equals(sha256)) {
      throw new KindlingError(
        'KND_DISK_READBACK',
        `${target.path}: the ${length} bytes at ${position} are not what was written`,
      );
    }
    onShare((index + 1) / blocks.length);
    await nextTurn();
  }
}

/** The hash of the raw image as it lies on the disk, with what is withheld in its place: for formats that are not written in order. */
export async function hashFromDisk(
  target: Target,
  parts: { head: Uint8Array; tail: Uint8Array; tailAt: number; rawLength: number },
): Promise<string> {
  const digest = nodeCrypto().createHash('sha256');
  const buffer = alignedMemory(READ_BYTES);
  for (let position = 0; position < parts.rawLength; position += READ_BYTES) {
    const length = Math.min(READ_BYTES, parts.rawLength - position);
    const aligned = Math.min(Math.ceil(length / ALIGNMENT) * ALIGNMENT, target.size - position);
    const found = readRange(target, buffer, position, aligned).subarray(0, length);
    if (position === 0) buffer.set(parts.head.subarray(0, length), 0);
    if (position + length > parts.tailAt) buffer.set(parts.tail, parts.tailAt - position);
    digest.update(found);
    await nextTurn();
  }
  return digest.digest('hex');
}
