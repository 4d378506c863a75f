import type { FileHandle } from 'node:fs/promises';
import { readPartitionTable } from './partitions.ts';

export interface UnusedBlocks {
  /** Sorted, not overlapping; byte positions in the image. */
  ranges: { start: number; end: number }[];
  bytes: number;
}

/** ext2/3/4 superblock (kernel Documentation/filesystems/ext4): offsets from its start at byte 1024. */
const SUPERBLOCK = 1024;
const EXT4 = {
  blocksLow: 0x4,
  firstDataBlock: 0x14,
  logBlockSize: 0x18,
  blocksPerGroup: 0x20,
  magic: 0x38,
  state: 0x3a,
  incompatible: 0x60,
  descriptorSize: 0xfe,
  blocksHigh: 0x150,
} as const;
const MAGIC = 0xef53;
const IS_CLEAN = 1;
const INCOMPAT_RECOVER = 0x4;
const INCOMPAT_META_BG = 0x10;
const INCOMPAT_64BIT = 0x80;
const RO_COMPAT = 0x64;
const RO_COMPAT_BIGALLOC = 0x200;
/** bg_flags: the bitmap was never written; nothing can be read off it. */
const BLOCK_UNINIT = 0x2;

/**
 * Finds blocks that no file of an ext4 file system uses, in every partition of the image (or in the image itself). A file
 * system that is not clean, or uses a layout we do not read, keeps all of its blocks.
 */
export async function findUnusedBlocks(image: FileHandle, size: number): Promise<UnusedBlocks> {
  const ranges: UnusedBlocks['ranges'] = [];
  for (const start of await readPartitionTable(image, size))
    ranges.push(...(await unusedInExt4(image, start, size)));
  ranges.sort((a, b) => a.start - b.start);
  return { ranges, bytes: ranges.reduce((sum, { start, end }) => sum + end - start, 0) };
}

async function unusedInExt4(image: FileHandle, start: number, size: number): Promise<UnusedBlocks['ranges']> {
  const superblock = await readAt(image, start + SUPERBLOCK, 1024);
  if (superblock.length < 1024 || superblock.readUInt16LE(EXT4.magic) !== MAGIC) return [];
  const incompatible = superblock.readUInt32LE(EXT4.incompatible);
  const isPlain =
    superblock.readUInt16LE(EXT4.state) === IS_CLEAN &&
    (incompatible & (INCOMPAT_RECOVER | INCOMPAT_META_BG)) === 0 &&
    (superblock.readUInt32LE(RO_COMPAT) & RO_COMPAT_BIGALLOC) === 0;
  if (!isPlain) return [];
  const is64 = (incompatible & INCOMPAT_64BIT) !== 0;
  const blockSize = 1024 << superblock.readUInt32LE(EXT4.logBlockSize);
  const high = is64 ? superblock.readUInt32LE(EXT4.blocksHigh) : 0;
  const blocks = high * 2 ** 32 + superblock.readUInt32LE(EXT4.blocksLow);
  const first = superblock.readUInt32LE(EXT4.firstDataBlock);
  const perGroup = superblock.readUInt32LE(EXT4.blocksPerGroup);
  const descriptorSize = is64 ? superblock.readUInt16LE(EXT4.descriptorSize) : 32;
  if (start + blocks * blockSize > size || perGroup === 0) return [];
  const groups = Math.ceil((blocks - first) / perGroup);
  const table = await readAt(image, start + (first + 1) * blockSize, groups * descriptorSize);
  const ranges: UnusedBlocks['ranges'] = [];
  for (let group = 0; group < groups; group += 1) {
    const descriptor = table.subarray(group * descriptorSize, (group + 1) * descriptorSize);
    if (descriptor.readUInt16LE(0x12) & BLOCK_UNINIT) continue;
    const bitmapHigh = descriptorSize >= 64 ? descriptor.readUInt32LE(0x20) : 0;
    const bitmapBlock = bitmapHigh * 2 ** 32 + descriptor.readUInt32LE(0);
    const bitmap = await readAt(image, start + bitmapBlock * blockSize, blockSize);
    const groupStart = first + group * perGroup;
    addFree(
      ranges,
      bitmap,
      Math.min(perGroup, blocks - groupStart),
      start + groupStart * blockSize,
      blockSize,
    );
  }
  return ranges;
}

function addFree(
  ranges: UnusedBlocks['ranges'],
  bitmap: Buffer,
  count: number,
  start: number,
  blockSize: number,
): void {
  for (let block = 0; block < count; block += 1) {
    if (((bitmap[block >> 3] ?? 0xff) >> (block & 7)) & 1) continue;
    const from = start + block * blockSize;
    const last = ranges.at(-1);
    if (last?.end === from) last.end += blockSize;
    else ranges.push({ start: from, end: from + blockSize });
  }
}

async function readAt(image: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await image.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
