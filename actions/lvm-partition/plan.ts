import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const LABEL = 'lvm';

export interface LvmPartitionRequest {
  partitions: readonly PartitionEntry[];
  sizeBytes: number;
  sectorBytes: number;
  lvmGigabytes: number;
  newGuid: () => string;
}

/** Where the partition for LVM goes: the end of the disk, so that the root in front of it can still grow at its first boot. */
export function planLvmPartition(request: LvmPartitionRequest): {
  partition: PartitionEntry;
  isThere: boolean;
} {
  const { partitions, lvmGigabytes } = request;
  const there = partitions.find(({ type, partLabel }) => type === PARTITION_TYPES.lvm && partLabel === LABEL);
  if (there) return { partition: there, isThere: true };
  const end = Math.floor(usableRange(request).end / MIB) * MIB;
  const startBytes = end - lvmGigabytes * GIB;
  const taken = Math.max(0, ...partitions.map((one) => one.startBytes + one.sizeBytes));
  if (startBytes < taken) {
    const free = Math.floor(Math.max(0, end - taken) / GIB);
    throw new KindlingError(
      'KND_DISK_TOO_SMALL',
      `${lvmGigabytes} GiB for LVM do not fit: behind the image there are ${free} GiB`,
    );
  }
  const numbers = new Set(partitions.map(({ number }) => number));
  let number = 1;
  while (numbers.has(number)) number++;
  const partition: PartitionEntry = {
    number,
    startBytes,
    sizeBytes: end - startBytes,
    type: PARTITION_TYPES.lvm,
    partUuid: request.newGuid(),
    partLabel: LABEL,
  };
  return { partition, isThere: false };
}
