import type { FileHandle } from 'node:fs/promises';
import { readPartitionTable } from '../../protocol/partition-table/read.ts';

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
  readOnlyCompatible: 0x64,
  descriptorSize: 0xfe,
  blocksHigh: 0x150,
} as const;
const MAGIC = 0xef53;
const IS_CLEAN = 1;
const INCOMPAT_64BIT = 0x80;
/**
 * Features under which a clear bit of the block bitmap means a free block, where we look for it: filetype, extents, 64bit, mmp, flex_bg,
 * ea_inode, csum_seed, largedir, inline_data, encrypt, casefold. Not: a journal to replay, a journal device, meta_bg.
 */
const INCOMPAT_READ =
  0x2 | 0x40 | INCOMPAT_64BIT | 0x100 | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000 | 0x1_0000 | 0x2_0000;
/** sparse_super, large_file, huge_file, gdt_csum, dir_nlink, extra_isize, quota, metadata_csum, project, verity. Not: bigalloc, shared blocks. */
const RO_COMPAT_READ = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x400 | 0x2000 | 0x8000;
/** bg_flags: the bitmap was never written; nothing can be read off it. */
const BLOCK_UNINIT = 0x2;

/** What lies at the start of a partition that is something else by now, though an old ext4 superblock may still be readable in it. */
const OTHERS: readonly { at: number; magic: string }[] = [
  { at: 0, magic: 'XFSB' },
  { at: 0, magic: 'LUKS\xba\xbe' },
  { at: 0, magic: 'hsqs' },
  { at: 0, magic: 'integrt\0' },
  { at: 0, magic: '\xfc\x4e\x2b\xa9' }, // md 1.1
  { at: 3, magic: 'NTFS    ' },
  { at: 3, magic: 'EXFAT   ' },
  { at: 54, magic: 'FAT' },
  { at: 82, magic: 'FAT32' },
  { at: 0, magic: 'LABELONE' },
  { at: 512, magic: 'LABELONE' }, // LVM: in one of the first four sectors
  { at: 1024, magic: 'LABELONE' },
  { at: 1536, magic: 'LABELONE' },
  { at: 4086, magic: 'SWAPSPACE2' },
  { at: 4096, magic: '\xfc\x4e\x2b\xa9' }, // md 1.2
  { at: 4120, magic: '\xc6\x85\x73\xf6\x4e\x1a\x45\xca' }, // bcache
  { at: 0x1_0040, magic: '_BHRfS_M' }, // btrfs
  { at: 0x2_0000, magic: '\x0c\xb1\xba\0' }, // ZFS, little-endian
];
const OTHERS_WITHIN = 0x2_0008;

/**
 * Finds blocks that no file of an ext4 file system uses, in every partition of the image (or in the image itself). A file
 * system that is not clean, uses a layout we do not read, or does not agree with itself keeps all of its blocks; so does every other kind.
 */
export async function findUnusedBlocks(image: FileHandle, size: number): Promise<UnusedBlocks> {
  const ranges: UnusedBlocks['ranges'] = [];
  const table = await readPartitionTable((offset, length) => readAt(image, offset, length), size);
  const whole = { startBytes: 0, sizeBytes: size };
  for (const { startBytes, sizeBytes } of table ? table.partitions : [whole])
    ranges.push(...(await unusedInExt4(image, startBytes, startBytes + sizeBytes)));
  ranges.sort((a, b) => a.start - b.start);
  return { ranges, bytes: ranges.reduce((sum, { start, end }) => sum + end - start, 0) };
}

async function unusedInExt4(image: FileHandle, start: number, end: number): Promise<UnusedBlocks['ranges']> {
  const superblock = await readAt(image, start + SUPERBLOCK, 1024);
  if (superblock.length < 1024 || superblock.readUInt16LE(EXT4.magic) !== MAGIC) return [];
  const incompatible = superblock.readUInt32LE(EXT4.incompatible);
  const isPlain =
    superblock.readUInt16LE(EXT4.state) === IS_CLEAN &&
    (incompatible & ~INCOMPAT_READ) === 0 &&
    (superblock.readUInt32LE(EXT4.readOnlyCompatible) & ~RO_COMPAT_READ) === 0;
  if (!isPlain || (await isSomethingElse(image, start))) return [];
  const is64 = (incompatible & INCOMPAT_64BIT) !== 0;
  const blockSize = 1024 << superblock.readUInt32LE(EXT4.logBlockSize);
  const high = is64 ? superblock.readUInt32LE(EXT4.blocksHigh) : 0;
  const blocks = high * 2 ** 32 + superblock.readUInt32LE(EXT4.blocksLow);
  const first = superblock.readUInt32LE(EXT4.firstDataBlock);
  const perGroup = superblock.readUInt32LE(EXT4.blocksPerGroup);
  const descriptorSize = is64 ? superblock.readUInt16LE(EXT4.descriptorSize) : 32;
  if (start + blocks * blockSize > end || perGroup === 0 || descriptorSize < 32) return [];
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
    const inGroup = Math.min(perGroup, blocks - groupStart);
    const free = addFree(ranges, bitmap, inGroup, start + groupStart * blockSize, blockSize);
    const countHigh = descriptorSize >= 64 ? descriptor.readUInt16LE(0x2c) : 0;
    if (free !== countHigh * 2 ** 16 + descriptor.readUInt16LE(0xc)) return [];
  }
  return ranges;
}

async function isSomethingElse(image: FileHandle, start: number): Promise<boolean> {
  const head = (await readAt(image, start, OTHERS_WITHIN)).toString('latin1');
  return OTHERS.some(({ at, magic }) => head.startsWith(magic, at));
}

/** Answers how many blocks are free. */
function addFree(
  ranges: UnusedBlocks['ranges'],
  bitmap: Buffer,
  count: number,
  start: number,
  blockSize: number,
): number {
  let free = 0;
  for (let block = 0; block < count; block += 1) {
    if (((bitmap[block >> 3] ?? 0xff) >> (block & 7)) & 1) continue;
    free += 1;
    const from = start + block * blockSize;
    const last = ranges.at(-1);
    if (last?.end === from) last.end += blockSize;
    else ranges.push({ start: from, end: from + blockSize });
  }
  return free;
}

async function readAt(image: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await image.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
