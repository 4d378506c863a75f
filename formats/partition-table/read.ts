import { readGpt } from './gpt-read.ts';
import { readMbr } from './mbr-read.ts';
import type { PartitionTable, ReadAt } from './table.ts';

/**
 * Reads the partition table of a device: GPT (checked by CRC, from the backup if the primary is broken), else MBR with
 * its logical partitions. `sectorBytes` is the device's logical sector size and is tried first.
 */
export async function readPartitionTable(
  readAt: ReadAt,
  sizeBytes: number,
  sectorBytes = 512,
): Promise<PartitionTable | undefined> {
  for (const size of new Set([sectorBytes, 512, 4096])) {
    const gpt = await readGpt(readAt, sizeBytes, size);
    if (gpt) return gpt;
  }
  return readMbr(readAt, sizeBytes, sectorBytes);
}
