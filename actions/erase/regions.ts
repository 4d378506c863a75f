import type { FoundSignature } from '../../formats/disk-signatures/probe.ts';
import type { Disk } from '../../protocol/inventory.ts';

interface Region {
  start: number;
  end: number;
}

const MIB = 1 << 20;
/** Both partition tables, boot code, RAID metadata of controllers (DDF, Intel) at the end. */
const DISK_ENDS = 32 * MIB;
/** A LUKS2 header with all its key slots: without it the data behind is lost for good. */
const PARTITION_START = 16 * MIB;
/** md 0.9 and 1.0, two of the four ZFS labels. */
const PARTITION_END = MIB;

/**
 * What a quick erase overwrites: both ends of the disk, both ends of every partition it had, and every signature
 * that was found, on 4 KiB boundaries and merged. EMF zeroes the first 2 GB and leaves the backup GPT, RAID
 * members and later partitions (docs/background/emf.md#erasing-disks).
 */
export function regionsToClear(
  disk: Pick<Disk, 'sizeBytes' | 'partitions'>,
  signatures: readonly Pick<FoundSignature, 'magicOffset' | 'magicBytes'>[],
): Region[] {
  const wanted: Region[] = [
    { start: 0, end: DISK_ENDS },
    { start: disk.sizeBytes - DISK_ENDS, end: disk.sizeBytes },
    ...disk.partitions.flatMap(({ startBytes, sizeBytes }) => [
      { start: startBytes, end: startBytes + Math.min(PARTITION_START, sizeBytes) },
      { start: startBytes + Math.max(0, sizeBytes - PARTITION_END), end: startBytes + sizeBytes },
    ]),
    ...signatures.map(({ magicOffset, magicBytes }) => ({
      start: magicOffset,
      end: magicOffset + magicBytes,
    })),
  ];
  const onBlocks = wanted
    .map(({ start, end }) => ({
      start: Math.max(0, Math.floor(start / 4096) * 4096),
      end: Math.min(disk.sizeBytes, Math.ceil(end / 4096) * 4096),
    }))
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start);
  const merged: Region[] = [];
  for (const region of onBlocks) {
    const last = merged.at(-1);
    if (last && region.start <= last.end) last.end = Math.max(last.end, region.end);
    else merged.push({ ...region });
  }
  return merged;
}
