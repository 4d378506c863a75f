import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';
import { swapBytes } from '../disks/swap-size.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const SECOND_ROOT_BYTES = 3 * GIB;

/** Added by emt_partition, in the order of their numbers. */
export interface AddedPartitions {
  /** The whole new table. */
  partitions: PartitionEntry[];
  /** The last partition of the image, which grows up to the new ones. */
  grown: PartitionEntry;
  swap: PartitionEntry;
  lvm?: PartitionEntry;
}

/**
 * What emt_partition (docs/background/emf.md#single-slot-microvisor) adds to an Edge Microvisor image: swap, a
 * second root of 3 GB, and a volume group, at the end of the disk.
 */
export function planAddedPartitions(request: {
  sizeBytes: number;
  sectorBytes: number;
  partitions: readonly PartitionEntry[];
  ramBytes: number;
  lvmGigabytes: number;
  newGuid: () => string;
}): AddedPartitions {
  const known = (label: string) => request.partitions.find(({ partLabel }) => partLabel === label);
  const last = request.partitions
    .filter(({ partLabel }) => !['swap', 'rootfs_b', 'lvm'].includes(partLabel ?? ''))
    .toSorted((a, b) => b.startBytes - a.startBytes)[0];
  if (!last || !known('rootfs') || last.number < 2) {
    throw new KindlingError(
      'KND_NOT_MICROVISOR',
      'the disk has no partition “rootfs”: it holds no Edge Microvisor image',
    );
  }
  const wanted = [
    { partLabel: 'swap', type: PARTITION_TYPES.swap, sizeBytes: swapBytes({ ...request, otherDisks: 0 }) },
    {
      partLabel: 'rootfs_b',
      type: known('rootfs')?.type ?? PARTITION_TYPES.linux,
      sizeBytes: SECOND_ROOT_BYTES,
    },
    ...(request.lvmGigabytes >= 1
      ? [{ partLabel: 'lvm', type: PARTITION_TYPES.lvm, sizeBytes: request.lvmGigabytes * GIB }]
      : []),
  ];
  const highest = Math.max(...request.partitions.map(({ number }) => number));
  let end = Math.floor(usableRange(request).end / MIB) * MIB;
  const added: PartitionEntry[] = [];
  for (const [index, part] of [...wanted.entries()].toReversed()) {
    const there = known(part.partLabel);
    end -= part.sizeBytes;
    // A run after a kill finds its partitions and leaves them where they are.
    if (there) end = Math.min(there.startBytes, end + part.sizeBytes);
    added.unshift(
      there ?? { ...part, number: highest + 1 + index, startBytes: end, partUuid: request.newGuid() },
    );
  }
  const grown = { ...last, sizeBytes: Math.floor((end - last.startBytes) / MIB) * MIB };
  if (grown.sizeBytes < last.sizeBytes) {
    throw new KindlingError(
      'KND_DISK_TOO_SMALL',
      'the disk has no room for swap, a second root and LVM_SIZE',
    );
  }
  const numbers = new Set(added.map(({ number }) => number));
  const others = request.partitions.filter(({ number }) => number !== last.number && !numbers.has(number));
  const [swap, , lvm] = added;
  if (!swap) throw new KindlingError('KND_NOT_MICROVISOR', 'there is no swap partition');
  return {
    partitions: [...others, grown, ...added].toSorted((a, b) => a.number - b.number),
    grown,
    swap,
    ...(lvm ? { lvm } : {}),
  };
}
