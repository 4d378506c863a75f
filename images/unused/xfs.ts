import { crc32c } from './crc32c.ts';
import {
  addRange,
  type ByteRange,
  doubtUnless,
  type FreeSpace,
  type PartitionReader,
  safeNumber,
} from './file-system.ts';
import { isXfsLogClean } from './xfs-log.ts';

/** XFS Algorithms & Data Structures, 3rd edition, chapter 12: the superblock. All numbers are big-endian but the checksums. */
const SUPER = {
  blockSize: 4,
  blocks: 8,
  realtimeBlocks: 16,
  uuid: 32,
  logStart: 48,
  groupBlocks: 84,
  groups: 88,
  logBlocks: 96,
  version: 100,
  sectorSize: 102,
  groupBlocksLog: 124,
  inProgress: 126,
  freeBlocks: 144,
  readOnlyFeatures: 212,
  incompatible: 216,
  logFeatures: 220,
  crc: 224,
} as const;
const VERSION_5 = 5;
/** finobt, rmapbt, reflink, inobtcount: none changes what the free space tree means. */
const RO_READ = 0x1 | 0x2 | 0x4 | 0x8;
/** ftype, sparse inodes, bigtime, nrext64, exchange-range, parent pointers. Not: another uuid in the blocks, "needs repair", metadir, zones. */
const INCOMPAT_READ = 0x1 | 0x2 | 0x8 | 0x20 | 0x40 | 0x80;

/** Allocation group header, in the second sector of each group. */
const AGF = {
  magic: 0,
  number: 8,
  length: 12,
  root: 16,
  levels: 28,
  reserveCount: 48,
  freeBlocks: 52,
  treeBlocks: 60,
  uuid: 64,
  crc: 216,
} as const;
/** A block of the tree of free extents by place; short form, version 5. */
const TREE = { level: 4, records: 6, right: 12, uuid: 32, owner: 48, crc: 52, header: 56 } as const;
const NO_SIBLING = 0xffffffff;
const RECORD_BYTES = 8;

interface Layout {
  blockSize: number;
  sectorSize: number;
  blocks: number;
  groupBlocks: number;
  groups: number;
  uuid: Buffer;
}

/** Free extents of xfs by the tree each allocation group keeps of them. */
export async function readXfs(partition: PartitionReader): Promise<FreeSpace> {
  const superblock = await partition.read(0, 512);
  const layout = readLayout(superblock);
  const { blockSize, sectorSize, blocks, groups } = layout;
  doubtUnless(hasCrc(await partition.read(0, sectorSize), SUPER.crc), 'a checksum is wrong');
  doubtUnless(blocks * blockSize <= partition.size, 'it is larger than its partition');
  const logStart = superblock.readBigUInt64BE(SUPER.logStart);
  doubtUnless(logStart !== 0n, 'its log is on another device');
  const groupLog = BigInt(superblock.readUInt8(SUPER.groupBlocksLog));
  const logBlock =
    safeNumber(logStart >> groupLog) * layout.groupBlocks + safeNumber(logStart & ((1n << groupLog) - 1n));
  const logBytes = superblock.readUInt32BE(SUPER.logBlocks) * blockSize;
  doubtUnless(
    await isXfsLogClean(partition, logBlock * blockSize, logBytes, layout.uuid),
    'its log is not clean: it has to be mounted and unmounted once',
  );
  const free: ByteRange[] = [];
  let total = 0;
  for (let group = 0; group < groups; group += 1) total += await readGroup(partition, layout, group, free);
  const stated = safeNumber(superblock.readBigUInt64BE(SUPER.freeBlocks));
  doubtUnless(total === stated, 'its counts of free blocks differ');
  return { end: blocks * blockSize, free };
}

function readLayout(superblock: Buffer): Layout {
  const version = superblock.readUInt16BE(SUPER.version) & 0xf;
  doubtUnless(version === VERSION_5, 'it is of an old version, without checksums');
  const unknown =
    (superblock.readUInt32BE(SUPER.readOnlyFeatures) & ~RO_READ) |
    (superblock.readUInt32BE(SUPER.incompatible) & ~INCOMPAT_READ) |
    superblock.readUInt32BE(SUPER.logFeatures);
  doubtUnless(unknown === 0, 'it has features that are not known here');
  doubtUnless(superblock.readBigUInt64BE(SUPER.realtimeBlocks) === 0n, 'it has a realtime device');
  doubtUnless(superblock.readUInt8(SUPER.inProgress) === 0, 'it was never finished');
  const layout = {
    blockSize: superblock.readUInt32BE(SUPER.blockSize),
    sectorSize: superblock.readUInt16BE(SUPER.sectorSize),
    blocks: safeNumber(superblock.readBigUInt64BE(SUPER.blocks)),
    groupBlocks: superblock.readUInt32BE(SUPER.groupBlocks),
    groups: superblock.readUInt32BE(SUPER.groups),
    uuid: superblock.subarray(SUPER.uuid, SUPER.uuid + 16),
  };
  const { blockSize, sectorSize, blocks, groupBlocks, groups } = layout;
  const isSane =
    blockSize >= 1024 && blockSize <= 65_536 && sectorSize >= 512 && sectorSize <= 32_768 && groupBlocks > 0;
  doubtUnless(isSane && groups === Math.ceil(blocks / groupBlocks), 'its layout makes no sense');
  return layout;
}

/** Adds the free extents of one group; answers how many blocks it counts as free, its own reserves included. */
async function readGroup(
  partition: PartitionReader,
  layout: Layout,
  group: number,
  free: ByteRange[],
): Promise<number> {
  const { blockSize, sectorSize, groupBlocks, blocks, uuid } = layout;
  const start = group * groupBlocks;
  const length = Math.min(groupBlocks, blocks - start);
  const header = await partition.read(start * blockSize + sectorSize, sectorSize);
  const isHeader =
    header.toString('latin1', AGF.magic, 4) === 'XAGF' &&
    header.readUInt32BE(AGF.number) === group &&
    header.readUInt32BE(AGF.length) === length &&
    header.subarray(AGF.uuid, AGF.uuid + 16).equals(uuid);
  doubtUnless(isHeader && hasCrc(header, AGF.crc), `allocation group ${group} makes no sense`);
  const wrong = `the free extents of allocation group ${group} make no sense`;

  let block = header.readUInt32BE(AGF.root);
  let level = header.readUInt32BE(AGF.levels) - 1;
  let counted = 0;
  let last = 0;
  while (block !== NO_SIBLING) {
    doubtUnless(block < length && level >= 0 && level < 16, wrong);
    const node = await partition.read((start + block) * blockSize, blockSize);
    const records = node.readUInt16BE(TREE.records);
    const isNode =
      node.toString('latin1', 0, 4) === 'AB3B' &&
      node.readUInt16BE(TREE.level) === level &&
      node.readUInt32BE(TREE.owner) === group &&
      node.subarray(TREE.uuid, TREE.uuid + 16).equals(uuid) &&
      records <= (blockSize - TREE.header) / RECORD_BYTES;
    doubtUnless(isNode && hasCrc(node, TREE.crc), wrong);
    if (level > 0) {
      // down the left edge: keys first, pointers in the second part of the block
      const most = Math.floor((blockSize - TREE.header) / (RECORD_BYTES + 4));
      block = node.readUInt32BE(TREE.header + most * RECORD_BYTES);
      level -= 1;
      continue;
    }
    for (let record = 0; record < records; record += 1) {
      const from = node.readUInt32BE(TREE.header + record * RECORD_BYTES);
      const count = node.readUInt32BE(TREE.header + record * RECORD_BYTES + 4);
      doubtUnless(from >= last && count > 0 && from + count <= length, wrong);
      last = from + count;
      counted += count;
      addRange(free, (start + from) * blockSize, (start + last) * blockSize);
    }
    block = node.readUInt32BE(TREE.right);
    // Records only go up, so no leaf that has some comes twice; one without any could lead to itself for ever.
    doubtUnless(records > 0 || block === NO_SIBLING, wrong);
  }
  doubtUnless(counted === header.readUInt32BE(AGF.freeBlocks), 'its counts of free blocks differ');
  return counted + header.readUInt32BE(AGF.reserveCount) + header.readUInt32BE(AGF.treeBlocks);
}

/** The checksum is taken with its own place as zeros, and stored little-endian. */
function hasCrc(block: Buffer, at: number): boolean {
  const copy = Buffer.from(block);
  copy.writeUInt32LE(0, at);
  return crc32c(copy) === block.readUInt32LE(at);
}
