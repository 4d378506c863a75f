import { crc32 } from 'node:zlib';
import { guidAt } from '../guid.ts';
import { ENTRY, HEADER, headerCrc, isGptHeader } from './gpt-fields.ts';
import type { PartitionEntry, PartitionTable, ReadAt } from './table.ts';

/** No real table is bigger; a corrupt header must not make us read gigabytes. */
const MAX_ENTRIES_BYTES = 1024 * 1024;

export async function readGpt(
  readAt: ReadAt,
  sizeBytes: number,
  sectorBytes: number,
): Promise<PartitionTable | undefined> {
  const lastLba = Math.floor(sizeBytes / sectorBytes) - 1;
  const primary = await readCopy(readAt, sectorBytes, 1, lastLba);
  const backup = await readCopy(readAt, sectorBytes, lastLba, lastLba);
  const table = primary ?? backup;
  if (!table) return undefined;
  return {
    kind: 'gpt',
    id: table.id,
    sectorBytes,
    partitions: table.partitions,
    copies: { primary: primary !== undefined, backup: backup !== undefined },
  };
}

/** One of the two copies; undefined unless header and entries carry the right checksums. */
async function readCopy(
  readAt: ReadAt,
  sectorBytes: number,
  lba: number,
  lastLba: number,
): Promise<{ id: string; partitions: PartitionEntry[] } | undefined> {
  if (lba < 1 || lba > lastLba) return undefined;
  const header = await readAt(lba * sectorBytes, sectorBytes);
  if (!isGptHeader(header)) return undefined;
  const headerBytes = header.readUInt32LE(HEADER.headerBytes);
  if (headerBytes < HEADER.end || headerBytes > header.length) return undefined;
  if (headerCrc(header) !== header.readUInt32LE(HEADER.headerCrc)) return undefined;
  if (header.readBigUInt64LE(HEADER.myLba) !== BigInt(lba)) return undefined;

  const count = header.readUInt32LE(HEADER.entryCount);
  const entryBytes = header.readUInt32LE(HEADER.entryBytes);
  const entriesLba = Number(header.readBigUInt64LE(HEADER.entriesLba));
  if (entryBytes < ENTRY.end || count * entryBytes > MAX_ENTRIES_BYTES || entriesLba > lastLba)
    return undefined;
  const entries = await readAt(entriesLba * sectorBytes, count * entryBytes);
  if (entries.length < count * entryBytes) return undefined;
  if (crc32(entries) !== header.readUInt32LE(HEADER.entriesCrc)) return undefined;

  const partitions = Array.from({ length: count }, (_, index) =>
    readEntry(entries.subarray(index * entryBytes, (index + 1) * entryBytes), index + 1, sectorBytes),
  ).filter((entry) => entry !== undefined);
  return { id: guidAt(header, HEADER.diskGuid), partitions };
}

function readEntry(entry: Buffer, number: number, sectorBytes: number): PartitionEntry | undefined {
  const type = guidAt(entry, ENTRY.typeGuid);
  const first = Number(entry.readBigUInt64LE(ENTRY.firstLba));
  const last = Number(entry.readBigUInt64LE(ENTRY.lastLba));
  if (/^[0-]+$/.test(type) || last < first) return undefined;
  const attributes = entry.readBigUInt64LE(ENTRY.attributes);
  const name = entry
    .subarray(ENTRY.name, ENTRY.name + ENTRY.nameBytes)
    .toString('utf16le')
    .split('\0')[0];
  return {
    number,
    startBytes: first * sectorBytes,
    sizeBytes: (last - first + 1) * sectorBytes,
    type,
    partUuid: guidAt(entry, ENTRY.uniqueGuid),
    ...(name ? { partLabel: name } : {}),
    ...(attributes === 0n ? {} : { attributes }),
  };
}
