import { randomBytes } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import type { BlockDevice } from '../disks/block-device.ts';
import { buildVerityTree, verityBytes } from './verity.ts';

const PIECE = 4 * 2 ** 20;

/** ext2/3/4 superblock (kernel documentation, ext4 disk layout): at byte 1024 of the partition. */
const EXT4 = { at: 1024, blocksLow: 4, logBlockSize: 24, magic: 56, blocksHigh: 336 } as const;

/** A partition on its disk, or a device that is the partition. */
interface Part {
  device: BlockDevice;
  startBytes: number;
  sizeBytes: number;
}

/** Hashes the root's filesystem and writes the tree to the hash partition; gives the root hash. */
export async function sealRoot(
  root: Part,
  hashes: Part,
  context: { signal: AbortSignal; onProgress(percent: number): void },
): Promise<string> {
  const dataBytes = await filesystemBytes(root);
  if (verityBytes(dataBytes) > hashes.sizeBytes) {
    throw new KindlingError('KND_DISK_TOO_SMALL', 'the hash tree of the root does not fit its partition');
  }
  async function* pieces() {
    for (let at = 0; at < dataBytes; at += PIECE) {
      context.signal.throwIfAborted();
      context.onProgress((at / dataBytes) * 100);
      yield await root.device.readAt(root.startBytes + at, Math.min(PIECE, dataBytes - at));
    }
  }
  const tree = await buildVerityTree(pieces(), { dataBytes, salt: randomBytes(32), uuid: randomBytes(16) });
  await hashes.device.writeAt(hashes.startBytes, tree.bytes);
  await hashes.device.sync();
  return tree.rootHash;
}

/** Only the filesystem is sealed (and moved), not the empty rest of a slot that is larger: nobody can read that. */
export async function filesystemBytes({ device, startBytes, sizeBytes }: Part): Promise<number> {
  const superblock = await device.readAt(startBytes + EXT4.at, 1024);
  if (superblock.readUInt16LE(EXT4.magic) !== 0xef53) {
    throw new KindlingError('KND_NOT_MICROVISOR', 'the root partition holds no ext4 filesystem');
  }
  const blockBytes = 1024 << superblock.readUInt32LE(EXT4.logBlockSize);
  const blocks = superblock.readUInt32LE(EXT4.blocksLow) + superblock.readUInt32LE(EXT4.blocksHigh) * 2 ** 32;
  const bytes = Math.ceil((blocks * blockBytes) / 4096) * 4096;
  if (bytes > sizeBytes)
    throw new KindlingError('KND_NOT_MICROVISOR', 'the root filesystem is larger than its partition');
  return bytes;
}
