import {
  type Chunk,
  chunkOf,
  readChunkItem,
  readSystemChunks,
  TreeReader,
  type TreeRoot,
} from './btrfs-tree.ts';
import { crc32c } from './crc32c.ts';
import {
  type ByteRange,
  Doubt,
  doubtUnless,
  type FreeSpace,
  type PartitionReader,
  safeNumber,
} from './file-system.ts';

/** btrfs on-disk format (btrfs.readthedocs.io, dev/On-disk-format): the superblock at 64 KiB. All numbers are little-endian. */
const SUPERBLOCK = 64 * 1024;
const SUPERBLOCK_BYTES = 4096;
const SUPER = {
  checked: 0x20,
  uuid: 0x20,
  place: 0x30,
  flags: 0x38,
  generation: 0x48,
  root: 0x50,
  chunkRoot: 0x58,
  logRoot: 0x60,
  totalBytes: 0x70,
  usedBytes: 0x78,
  devices: 0x88,
  nodeSize: 0x94,
  systemChunksBytes: 0xa0,
  chunkRootGeneration: 0xa4,
  readOnlyFeatures: 0xb4,
  incompatible: 0xbc,
  checksumType: 0xc4,
  rootLevel: 0xc6,
  chunkRootLevel: 0xc7,
  deviceTotalBytes: 0xd1,
  deviceUsedBytes: 0xd9,
  systemChunks: 0x32b,
} as const;
const FLAG_WRITTEN = 1n;
/** mixed backrefs, default subvolume, mixed groups, lzo, zstd, big metadata, extended iref, skinny metadata, no holes. */
const INCOMPAT_READ = 0x1n | 0x2n | 0x4n | 0x8n | 0x10n | 0x20n | 0x40n | 0x100n | 0x200n;
/** free space tree and its validity, fs-verity. Not: a tree of its own for block groups. */
const RO_READ = 0x1n | 0x2n | 0x4n;
/** Copies of the superblock lie amid the chunks and in no tree; each takes a whole stripe. */
const SUPERBLOCK_PLACES = [64 * 2 ** 20, 256 * 2 ** 30];
const STRIPE = 64 * 1024;
/** Boot loaders may use what lies before; no chunk does. */
const FIRST_USABLE = 2 ** 20;

const EXTENT_TREE = 2n;
const ITEM = { root: 132, extent: 168, metadata: 169, blockGroup: 192, chunk: 228 } as const;
const ROOT_ITEM = { generation: 160, place: 176, level: 238 } as const;

/** Free space of a btrfs on one device, by its chunks and its tree of extents. */
export async function readBtrfs(partition: PartitionReader): Promise<FreeSpace> {
  const superblock = await readSuperblock(partition);
  const u64 = (at: number) => safeNumber(superblock.readBigUInt64LE(at));
  const end = u64(SUPER.deviceTotalBytes);
  doubtUnless(end <= partition.size && end === u64(SUPER.totalBytes), 'it is larger than its partition');
  const tree = new TreeReader(partition, {
    nodeSize: superblock.readUInt32LE(SUPER.nodeSize),
    uuid: superblock.subarray(SUPER.uuid, SUPER.uuid + 16),
    chunks: readSystemChunks(
      superblock.subarray(
        SUPER.systemChunks,
        SUPER.systemChunks + superblock.readUInt32LE(SUPER.systemChunksBytes),
      ),
    ),
  });
  await readChunks(tree, superblock);
  const chunks = tree.chunks;
  checkDevice(chunks, end, u64(SUPER.deviceUsedBytes));
  const used = await readExtents(tree, superblock);
  const busy = [{ start: 0, end: FIRST_USABLE }];
  for (const start of SUPERBLOCK_PLACES) busy.push({ start, end: start + STRIPE });
  for (const { start, end: until } of used) {
    const chunk = chunkOf(chunks, start, until - start);
    for (const stripe of chunk.stripes)
      busy.push({ start: stripe + start - chunk.start, end: stripe + until - chunk.start });
  }
  return { end, free: complement(busy, end) };
}

async function readSuperblock(partition: PartitionReader): Promise<Buffer> {
  const superblock = await partition.read(SUPERBLOCK, SUPERBLOCK_BYTES);
  doubtUnless(superblock.readUInt16LE(SUPER.checksumType) === 0, 'its checksums are not CRC-32C');
  const isWhole = crc32c(superblock.subarray(SUPER.checked)) === superblock.readUInt32LE(0);
  doubtUnless(
    isWhole && superblock.readBigUInt64LE(SUPER.place) === BigInt(SUPERBLOCK),
    'a checksum is wrong',
  );
  doubtUnless(superblock.readBigUInt64LE(SUPER.flags) === FLAG_WRITTEN, 'it is a seed, or half changed');
  const unknown =
    (superblock.readBigUInt64LE(SUPER.incompatible) & ~INCOMPAT_READ) |
    (superblock.readBigUInt64LE(SUPER.readOnlyFeatures) & ~RO_READ);
  doubtUnless(unknown === 0n, 'it has features that are not known here');
  doubtUnless(superblock.readBigUInt64LE(SUPER.logRoot) === 0n, 'it was not unmounted cleanly');
  doubtUnless(superblock.readBigUInt64LE(SUPER.devices) === 1n, 'it has several devices');
  return superblock;
}

/** The system chunks of the superblock lead to the tree of all chunks. */
async function readChunks(tree: TreeReader, superblock: Buffer): Promise<void> {
  const root = {
    place: safeNumber(superblock.readBigUInt64LE(SUPER.chunkRoot)),
    level: superblock.readUInt8(SUPER.chunkRootLevel),
    generation: superblock.readBigUInt64LE(SUPER.chunkRootGeneration),
  };
  const chunks: Chunk[] = [];
  await tree.walk(root, ({ type, offset }, data) => {
    if (type === ITEM.chunk) chunks.push(readChunkItem(safeNumber(offset), data));
  });
  tree.chunks = chunks.sort((a, b) => a.start - b.start);
}

function checkDevice(chunks: readonly Chunk[], end: number, stated: number): void {
  const stripes = chunks.flatMap(({ stripes: places, length }) =>
    places.map((start) => ({ start, end: start + length })),
  );
  stripes.sort((a, b) => a.start - b.start);
  let last = FIRST_USABLE;
  let sum = 0;
  for (const stripe of stripes) {
    doubtUnless(stripe.start >= last && stripe.end <= end, 'its chunks make no sense');
    last = stripe.end;
    sum += stripe.end - stripe.start;
  }
  doubtUnless(sum === stated, 'its counts of used bytes differ');
}

/** Every extent in use, by logical address; their sums must be those of the block groups and of the superblock. */
async function readExtents(tree: TreeReader, superblock: Buffer): Promise<ByteRange[]> {
  const nodeSize = superblock.readUInt32LE(SUPER.nodeSize);
  const used: ByteRange[] = [];
  const groups = new Map<number, { stated: number; counted: number }>();
  const takeGroup = (start: number, length: number, data: Buffer) => {
    const chunk = chunkOf(tree.chunks, start, length);
    doubtUnless(chunk.start === start && chunk.length === length, 'its block groups make no sense');
    groups.set(start, { stated: safeNumber(data.readBigUInt64LE(0)), counted: 0 });
  };
  await tree.walk(await readExtentRoot(tree, superblock), ({ id, type, offset }, data) => {
    const start = safeNumber(id);
    if (type === ITEM.extent) used.push({ start, end: start + safeNumber(offset) });
    else if (type === ITEM.metadata) used.push({ start, end: start + nodeSize });
    else if (type === ITEM.blockGroup) takeGroup(start, safeNumber(offset), data);
  });
  let total = 0;
  for (const { start, end } of used) {
    const group = groups.get(chunkOf(tree.chunks, start, end - start).start);
    doubtUnless(group !== undefined, 'its block groups make no sense');
    group.counted += end - start;
    total += end - start;
  }
  const isEqual = [...groups.values()].every(({ stated, counted }) => stated === counted);
  const isTotal = total === safeNumber(superblock.readBigUInt64LE(SUPER.usedBytes));
  doubtUnless(isEqual && isTotal && groups.size === tree.chunks.length, 'its counts of used bytes differ');
  return used;
}

async function readExtentRoot(tree: TreeReader, superblock: Buffer): Promise<TreeRoot> {
  const root = {
    place: safeNumber(superblock.readBigUInt64LE(SUPER.root)),
    level: superblock.readUInt8(SUPER.rootLevel),
    generation: superblock.readBigUInt64LE(SUPER.generation),
  };
  let found: TreeRoot | undefined;
  await tree.walk(root, ({ id, type }, data) => {
    if (type !== ITEM.root || id !== EXTENT_TREE) return;
    found = {
      place: safeNumber(data.readBigUInt64LE(ROOT_ITEM.place)),
      level: data.readUInt8(ROOT_ITEM.level),
      generation: data.readBigUInt64LE(ROOT_ITEM.generation),
    };
  });
  if (!found) throw new Doubt('it has no tree of extents');
  return found;
}

/** What lies between the busy ranges, which may overlap. */
function complement(busy: ByteRange[], end: number): ByteRange[] {
  busy.sort((a, b) => a.start - b.start);
  const free: ByteRange[] = [];
  let last = 0;
  for (const range of busy) {
    if (range.start >= end) break;
    if (range.start > last) free.push({ start: last, end: range.start });
    last = Math.max(last, range.end);
  }
  if (last < end) free.push({ start: last, end });
  return free;
}
