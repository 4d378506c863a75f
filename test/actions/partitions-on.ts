import { readPartitionTable } from '../../formats/partition-table/read.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import type { DiskFile } from '../../lab/qemu/disk-file.ts';

/** The partitions on the disk of a virtual machine, as its file shows them from outside. */
export async function partitionsOn(disk: DiskFile | undefined): Promise<PartitionEntry[]> {
  if (!disk) return [];
  const table = await readPartitionTable((offset, length) => disk.read(offset, length), await disk.size());
  return table?.partitions ?? [];
}

/** "4 hashmap_a", in the order of the numbers. */
export const numbersAndLabels = (partitions: readonly PartitionEntry[]) =>
  partitions.toSorted((a, b) => a.number - b.number).map(({ number, partLabel }) => `${number} ${partLabel}`);
