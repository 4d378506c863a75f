import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindlingError } from '../../protocol/error.ts';
import { sha256 as hash, nodeCrypto } from '../../system/crypto.ts';
import type { BlockHash } from './stream/block-output.ts';
import { alignedMemory } from './target/aligned-memory.ts';
import { ALIGNMENT, readRange, type Target, tryReadRange } from './target/target.ts';
import type { Withheld } from './target/withheld.ts';

const READ_BYTES = 4 * 1024 * 1024;

/** Reads blocks back past the page cache and compares their hashes. In between others have their turn: progress, a cancellation. */
export async function readBack(
  target: Target,
  blocks: readonly BlockHash[],
  withheld: Withheld,
  onShare: (share: number) => void,
): Promise<void> {
  const buffer = alignedMemory(READ_BYTES);
  for (const [index, { position, length, sha256 }] of blocks.entries()) {
    const found = tryReadRange(target, buffer, position, alignedLength(target, position, length));
    const bytes = withheld.overlay(found.subarray(0, length), position);
    if (!hash(bytes).equals(sha256)) {
      throw new KindlingError(
        'KND_DISK_READBACK',
        `${target.path}: the ${length} bytes at ${position} are not what was written`,
      );
    }
    onShare((index + 1) / blocks.length);
    await nextTurn();
  }
}

/** The hash of the raw image as it lies on the disk: for formats that are not written in order. */
export async function hashFromDisk(target: Target, rawLength: number, withheld: Withheld): Promise<string> {
  const digest = nodeCrypto().createHash('sha256');
  const buffer = alignedMemory(READ_BYTES);
  for (let position = 0; position < rawLength; position += READ_BYTES) {
    const length = Math.min(READ_BYTES, rawLength - position);
    const found = readRange(target, buffer, position, alignedLength(target, position, length));
    digest.update(withheld.overlay(found.subarray(0, length), position));
    await nextTurn();
  }
  return digest.digest('hex');
}

const alignedLength = (target: Target, position: number, length: number) =>
  Math.min(Math.ceil(length / ALIGNMENT) * ALIGNMENT, target.size - position);
