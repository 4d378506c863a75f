import type { FileHandle } from 'node:fs/promises';
import { probeSignatures } from '../../formats/disk-signatures/probe.ts';
import { readPartitionTable } from '../../formats/partition-table/read.ts';
import type { PartitionEntry, ReadAt } from '../../formats/partition-table/table.ts';
import { readBtrfs } from './btrfs.ts';
import { readExt4 } from './ext4.ts';
import { readFat } from './fat.ts';
import { type ByteRange, Doubt, doubtUnless, type FreeSpaceReader, PartitionReader } from './file-system.ts';
import { readSwap } from './swap.ts';
import { readXfs } from './xfs.ts';

export interface UnusedBlocks {
  /** Sorted, not overlapping; byte positions in the image. */
  ranges: ByteRange[];
  bytes: number;
  /** What was found in each partition, for people. */
  findings: Finding[];
}

export interface Finding {
  /** "partition 2", or "the image" when it has no partitions. */
  name: string;
  /** As blkid names it; absent if nothing is known of it. */
  type?: string;
  unusedBytes: number;
  /** Why all of it is kept, if it is. */
  kept?: string;
}

/** By the name of the signature. Whatever is not here is kept as it is. */
const READERS: Readonly<Record<string, FreeSpaceReader>> = {
  ext2: readExt4,
  ext3: readExt4,
  ext4: readExt4,
  vfat: readFat,
  xfs: readXfs,
  btrfs: readBtrfs,
  swap: readSwap,
};
const EXTENDED_TYPES = ['0x05', '0x0f', '0x85'];
const VERITY = 'DM_verity_hash';
/** Nothing that covers or describes a file system fits in less: a hash tree, the superblock of a RAID. */
const SMALLEST_TRAILER = 4096;
const READ_BYTES = 4 * 2 ** 20;
const ZEROS = Buffer.alloc(READ_BYTES);

/**
 * Finds what no file uses, in every partition of an image or in the image itself. A file system that is in doubt keeps all of its blocks;
 * the findings say why.
 */
export async function findUnusedBlocks(image: FileHandle, size: number): Promise<UnusedBlocks> {
  const readAt: ReadAt = async (position, length) => {
    const { buffer, bytesRead } = await image.read(Buffer.alloc(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  };
  const parts = await partsOf(readAt, size);
  const signatures = await Promise.all(parts.map((part) => signaturesOf(readAt, part)));
  const whole = await signaturesOf(readAt, { name: 'the image', startBytes: 0, sizeBytes: size });
  const doubt = doubtAboutAll(parts, [...signatures, whole].flat());
  const ranges: ByteRange[] = [];
  const findings: Finding[] = [];
  for (const [index, part] of parts.entries()) {
    const types = signatures[index] ?? [];
    const [type] = types;
    const finding: Finding = { name: part.name, ...(type ? { type } : {}), unusedBytes: 0 };
    findings.push(finding);
    try {
      if (doubt) throw new Doubt(doubt);
      doubtUnless(endOf(part) <= size, 'it ends beyond the image');
      for (const { start, end } of await freeIn(readAt, part, types)) {
        ranges.push({ start: part.startBytes + start, end: part.startBytes + end });
        finding.unusedBytes += end - start;
      }
    } catch (thrown) {
      finding.kept = whyKept(thrown);
    }
  }
  ranges.sort((a, b) => a.start - b.start);
  return { ranges, bytes: findings.reduce((sum, { unusedBytes }) => sum + unusedBytes, 0), findings };
}

/** A number that leads out of the block it stands in is as good a reason as any. */
function whyKept(thrown: unknown): string {
  if (thrown instanceof Doubt) return thrown.message;
  if (thrown instanceof RangeError) return 'its structures make no sense';
  throw thrown;
}

interface Part extends Pick<PartitionEntry, 'startBytes' | 'sizeBytes'> {
  name: string;
}

async function partsOf(readAt: ReadAt, size: number): Promise<Part[]> {
  const table = await readPartitionTable(readAt, size);
  if (!table) return [{ name: 'the image', startBytes: 0, sizeBytes: size }];
  return table.partitions
    .filter(({ type }) => !EXTENDED_TYPES.includes(type))
    .map(({ number, startBytes, sizeBytes }) => ({ name: `partition ${number}`, startBytes, sizeBytes }));
}

/** The types of all signatures in a partition, each once: with more than one nobody knows which is meant. */
async function signaturesOf(readAt: ReadAt, { startBytes, sizeBytes }: Part): Promise<string[]> {
  const found = await probeSignatures((offset, length) => readAt(startBytes + offset, length), sizeBytes);
  return [...new Set(found.map(({ type }) => type))];
}

/** What makes the free blocks of every partition part of something else. */
function doubtAboutAll(parts: readonly Part[], types: readonly string[]): string | undefined {
  if (types.includes(VERITY)) return 'the image has a dm-verity hash tree, which may cover free blocks too';
  if (types.includes('iso9660')) return 'the image is a CD, on which a partition can be a file';
  const sorted = [...parts].sort((a, b) => a.startBytes - b.startBytes);
  const overlaps = sorted.some(
    ({ startBytes }, i) => i > 0 && startBytes < endOf(sorted[i - 1] ?? { startBytes: 0, sizeBytes: 0 }),
  );
  return overlaps ? 'partitions overlap' : undefined;
}

const endOf = ({ startBytes, sizeBytes }: Pick<Part, 'startBytes' | 'sizeBytes'>) => startBytes + sizeBytes;

async function freeIn(readAt: ReadAt, part: Part, types: readonly string[]): Promise<ByteRange[]> {
  const [type] = types;
  if (type === undefined) throw new Doubt('nothing known is in it');
  doubtUnless(types.length === 1, `it looks like ${types.join(' and ')} at once`);
  const reader = READERS[type];
  doubtUnless(reader !== undefined, 'its free blocks are not known');
  const partition = new PartitionReader(readAt, part.startBytes, part.sizeBytes);
  const { end, free } = await reader(partition);
  for (const range of free)
    doubtUnless(range.start < range.end && range.end <= end, 'its free blocks make no sense');
  await checkTrailer(partition, end);
  return free;
}

/** A hash tree or a RAID superblock behind a file system may speak about all of its blocks. */
async function checkTrailer(partition: PartitionReader, end: number): Promise<void> {
  if (partition.size - end < SMALLEST_TRAILER) return;
  for (let at = end; at < partition.size; at += READ_BYTES) {
    const bytes = await partition.read(at, Math.min(READ_BYTES, partition.size - at));
    doubtUnless(bytes.equals(ZEROS.subarray(0, bytes.length)), 'something lies behind it in its partition');
  }
}
