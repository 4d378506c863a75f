import type { PartitionEntry, PartitionTable, ReadAt } from './table.ts';

/** MBR: UEFI 2.10 section 5.2.1. Four entries of 16 bytes before the 0xaa55 at the end of the first 512 bytes. */
const DISK_SIGNATURE = 440;
const ENTRIES = 446;
const ENTRY_BYTES = 16;
const BOOT_SIGNATURE = 510;
const EXTENDED_TYPES = new Set([0x05, 0x0f, 0x85]);
/** A chain of logical partitions that is longer is a loop or garbage. */
const MAX_LOGICAL = 128;

interface MbrEntry {
  status: number;
  type: number;
  firstLba: number;
  sectors: number;
}

export async function readMbr(
  readAt: ReadAt,
  sizeBytes: number,
  sectorBytes: number,
): Promise<PartitionTable | undefined> {
  const sector = await readAt(0, 512);
  const entries = readEntries(sector);
  if (!entries || isBootSectorOfFileSystem(sector)) return undefined;
  const used = entries
    .map((entry, index) => ({ ...entry, number: index + 1 }))
    .filter(({ type }) => type !== 0);
  if (used.length === 0 || entries.some(({ status }) => (status & 0x7f) !== 0)) return undefined;
  const diskSignature = sector.readUInt32LE(DISK_SIGNATURE).toString(16).padStart(8, '0');

  const toPartition = (entry: MbrEntry, number: number): PartitionEntry => ({
    number,
    startBytes: entry.firstLba * sectorBytes,
    sizeBytes: entry.sectors * sectorBytes,
    type: `0x${entry.type.toString(16).padStart(2, '0')}`,
    partUuid: `${diskSignature}-${number.toString(16).padStart(2, '0')}`,
  });
  const partitions = used.map((entry) => toPartition(entry, entry.number));
  const extended = used.find(({ type }) => EXTENDED_TYPES.has(type));
  if (extended) {
    const logical = await readLogical(readAt, extended.firstLba, sizeBytes, sectorBytes);
    partitions.push(...logical.map((entry, index) => toPartition(entry, 5 + index)));
  }
  return { kind: 'mbr', id: diskSignature, sectorBytes, partitions };
}

/** Logical partitions are a chain of small MBRs: the first entry is the partition, the second the next link. */
async function readLogical(
  readAt: ReadAt,
  extendedLba: number,
  sizeBytes: number,
  sectorBytes: number,
): Promise<MbrEntry[]> {
  const found: MbrEntry[] = [];
  const visited = new Set<number>();
  let lba = extendedLba;
  while (found.length < MAX_LOGICAL && !visited.has(lba) && (lba + 1) * sectorBytes <= sizeBytes) {
    visited.add(lba);
    const [partition, next] = readEntries(await readAt(lba * sectorBytes, 512)) ?? [];
    if (!partition || !next) break;
    if (partition.type !== 0) found.push({ ...partition, firstLba: lba + partition.firstLba });
    if (!EXTENDED_TYPES.has(next.type)) break;
    lba = extendedLba + next.firstLba;
  }
  return found;
}

function readEntries(sector: Buffer): MbrEntry[] | undefined {
  if (sector.length < 512 || sector.readUInt16LE(BOOT_SIGNATURE) !== 0xaa55) return undefined;
  return [0, 1, 2, 3].map((index) => {
    const at = ENTRIES + index * ENTRY_BYTES;
    return {
      status: sector.readUInt8(at),
      type: sector.readUInt8(at + 4),
      firstLba: sector.readUInt32LE(at + 8),
      sectors: sector.readUInt32LE(at + 12),
    };
  });
}

/** FAT and NTFS boot sectors end in 0xaa55 too; what looks like a partition entry there is boot code. */
export function isBootSectorOfFileSystem(sector: Buffer): boolean {
  const name = sector.subarray(3, 11).toString('latin1');
  const isFat = [0x36, 0x52].some((at) => sector.subarray(at, at + 3).toString('latin1') === 'FAT');
  return isFat || name === 'NTFS    ' || name === 'EXFAT   ' || name === '-FVE-FS-';
}
