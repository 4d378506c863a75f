import { readGpt } from './partition-table/gpt.ts';
import { readMbr } from './partition-table/mbr.ts';
import type { ReadAt } from './signatures/rule.ts';

export interface PartitionEntry {
  /** As in /dev/sda<number>. */
  number: number;
  startBytes: number;
  sizeBytes: number;
  /** GPT type GUID, lower case; or the MBR type as 0x83. */
  type: string;
  /** GPT unique GUID; for MBR <disk signature>-<number> as the kernel builds PARTUUID. */
  partUuid?: string;
  partLabel?: string;
  /** GPT only: bit 0 needed by the platform, bit 2 legacy boot, bits 48–63 by type. */
  attributes?: bigint;
}

export interface PartitionTable {
  kind: 'gpt' | 'mbr';
  /** GPT disk GUID or MBR disk signature. */
  id?: string;
  /** The sector size the table was made for; a 4Kn image on a 512-byte disk shows here. */
  sectorBytes: number;
  partitions: PartitionEntry[];
  /** GPT only: which of the two headers are there and right (CRC). A good table has both. */
  copies?: { primary: boolean; backup: boolean };
}

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
