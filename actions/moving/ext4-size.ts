import { KindlingError } from '../../protocol/error.ts';
import type { BlockDevice } from '../disks/block-device.ts';

/** ext2/3/4 superblock (kernel documentation, ext4 disk layout): at byte 1024 of the partition. */
const EXT4 = { at: 1024, blocksLow: 4, logBlockSize: 24, magic: 56, blocksHigh: 336 } as const;

/** A partition on its disk, or a device that is the partition. */
export interface Part {
  device: BlockDevice;
  startBytes: number;
  sizeBytes: number;
}

/** Only the file system is sealed and moved, not the empty rest of a partition that is larger: nobody can read that. */
export async function filesystemBytes({ device, startBytes, sizeBytes }: Part): Promise<number> {
  const superblock = await device.readAt(startBytes + EXT4.at, 1024);
  if (superblock.readUInt16LE(EXT4.magic) !== 0xef53) {
    throw new KindlingError('KND_NOT_MICROVISOR', 'the root partition holds no ext4 file system');
  }
  const blockBytes = 1024 << superblock.readUInt32LE(EXT4.logBlockSize);
  const blocks = superblock.readUInt32LE(EXT4.blocksLow) + superblock.readUInt32LE(EXT4.blocksHigh) * 2 ** 32;
  const bytes = Math.ceil((blocks * blockBytes) / 4096) * 4096;
  if (bytes > sizeBytes)
    throw new KindlingError('KND_NOT_MICROVISOR', 'the root file system is larger than its partition');
  return bytes;
}
