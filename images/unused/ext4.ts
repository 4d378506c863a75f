import {
  addRange,
  type ByteRange,
  doubtUnless,
  type FreeSpace,
  type PartitionReader,
} from './file-system.ts';

/** ext2/3/4 superblock (kernel Documentation/filesystems/ext4): offsets from its start at byte 1024. */
const SUPERBLOCK = 1024;
const FIELD = {
  blocksLow: 0x4,
  freeLow: 0xc,
  firstDataBlock: 0x14,
  logBlockSize: 0x18,
  blocksPerGroup: 0x20,
  state: 0x3a,
  incompatible: 0x60,
  readOnlyCompatible: 0x64,
  descriptorSize: 0xfe,
  blocksHigh: 0x150,
  freeHigh: 0x158,
} as const;
const IS_CLEAN = 1;
const INCOMPAT_64BIT = 0x80;
const INCOMPAT_RECOVER = 0x4;
/**
 * Features under which a clear bit of the block bitmap means a free block, where we look for it: filetype, extents, 64bit, mmp, flex_bg,
 * ea_inode, csum_seed, largedir, inline_data, encrypt, casefold. Not: a journal to replay, a journal device, meta_bg.
 */
const INCOMPAT_READ =
  0x2 | 0x40 | INCOMPAT_64BIT | 0x100 | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000 | 0x1_0000 | 0x2_0000;
/** sparse_super, large_file, huge_file, gdt_csum, dir_nlink, extra_isize, quota, metadata_csum, project, verity. Not: bigalloc, shared blocks. */
const RO_COMPAT_READ = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x400 | 0x2000 | 0x8000;

/** Group descriptor: 32 bytes, or 64 and more with the high halves. */
const GROUP = {
  bitmapLow: 0,
  freeLow: 0xc,
  flags: 0x12,
  bitmapHigh: 0x20,
  freeHigh: 0x2c,
  fullSize: 64,
} as const;
/** bg_flags: the bitmap was never written; nothing can be read off it. */
const BLOCK_UNINIT = 0x2;

interface Layout {
  blockSize: number;
  blocks: number;
  first: number;
  perGroup: number;
  descriptorSize: number;
}

/** Free blocks of ext2, ext3 and ext4 by their block bitmaps. */
export async function readExt4(partition: PartitionReader): Promise<FreeSpace> {
  const superblock = await partition.read(SUPERBLOCK, 1024);
  const layout = readLayout(superblock);
  const { blockSize, blocks, first, perGroup, descriptorSize } = layout;
  doubtUnless(blocks * blockSize <= partition.size, 'it is larger than its partition');
  const groups = Math.ceil((blocks - first) / perGroup);
  const table = await partition.read((first + 1) * blockSize, groups * descriptorSize);
  const free: ByteRange[] = [];
  let total = 0;
  for (let group = 0; group < groups; group += 1) {
    const descriptor = table.subarray(group * descriptorSize, (group + 1) * descriptorSize);
    const isFull = descriptorSize >= GROUP.fullSize;
    const freeHigh = isFull ? descriptor.readUInt16LE(GROUP.freeHigh) : 0;
    const freeCount = freeHigh * 2 ** 16 + descriptor.readUInt16LE(GROUP.freeLow);
    total += freeCount;
    if (descriptor.readUInt16LE(GROUP.flags) & BLOCK_UNINIT) continue;
    const bitmapHigh = isFull ? descriptor.readUInt32LE(GROUP.bitmapHigh) : 0;
    const bitmapBlock = bitmapHigh * 2 ** 32 + descriptor.readUInt32LE(GROUP.bitmapLow);
    const bitmap = await partition.read(bitmapBlock * blockSize, blockSize);
    const counted = addClearBits(free, bitmap, first + group * perGroup, layout);
    doubtUnless(counted === freeCount, 'its block bitmaps and counts differ');
  }
  const high = superblock.readUInt32LE(FIELD.incompatible) & INCOMPAT_64BIT;
  const stated = (high ? superblock.readUInt32LE(FIELD.freeHigh) : 0) * 2 ** 32;
  doubtUnless(
    total === stated + superblock.readUInt32LE(FIELD.freeLow),
    'its block bitmaps and counts differ',
  );
  return { end: blocks * blockSize, free };
}

function readLayout(superblock: Buffer): Layout {
  const incompatible = superblock.readUInt32LE(FIELD.incompatible);
  const isClean = superblock.readUInt16LE(FIELD.state) === IS_CLEAN && !(incompatible & INCOMPAT_RECOVER);
  doubtUnless(isClean, 'it was not unmounted cleanly');
  const unknown =
    (incompatible & ~INCOMPAT_READ) | (superblock.readUInt32LE(FIELD.readOnlyCompatible) & ~RO_COMPAT_READ);
  doubtUnless(unknown === 0, 'it has features that are not known here');
  const is64 = (incompatible & INCOMPAT_64BIT) !== 0;
  const logBlockSize = superblock.readUInt32LE(FIELD.logBlockSize);
  doubtUnless(logBlockSize <= 6, 'its block size makes no sense');
  const high = is64 ? superblock.readUInt32LE(FIELD.blocksHigh) : 0;
  const layout = {
    blockSize: 1024 << logBlockSize,
    blocks: high * 2 ** 32 + superblock.readUInt32LE(FIELD.blocksLow),
    first: superblock.readUInt32LE(FIELD.firstDataBlock),
    perGroup: superblock.readUInt32LE(FIELD.blocksPerGroup),
    descriptorSize: is64 ? superblock.readUInt16LE(FIELD.descriptorSize) : 32,
  };
  const isSane =
    layout.perGroup > 0 && layout.perGroup <= layout.blockSize * 8 && layout.descriptorSize >= 32;
  doubtUnless(isSane && layout.blocks > layout.first, 'its layout makes no sense');
  return layout;
}

/** Answers how many blocks of the group are free. */
function addClearBits(free: ByteRange[], bitmap: Buffer, groupStart: number, layout: Layout): number {
  const { blockSize, blocks, perGroup } = layout;
  const inGroup = Math.min(perGroup, blocks - groupStart);
  let count = 0;
  for (let block = 0; block < inGroup; block += 1) {
    if (((bitmap[block >> 3] ?? 0xff) >> (block & 7)) & 1) continue;
    count += 1;
    const start = (groupStart + block) * blockSize;
    addRange(free, start, start + blockSize);
  }
  return count;
}
