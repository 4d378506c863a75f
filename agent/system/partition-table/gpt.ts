import { crc32 } from 'node:zlib';
import type { PartitionEntry, PartitionTable } from '../partition-table.ts';
import type { ReadAt } from '../signatures/rule.ts';

/** GPT header, UEFI 2.10 section 5.3.2: field offsets. All numbers are little-endian. */
const HEADER = {
  signature: 0, // "EFI PART"
  headerBytes: 12,
  headerCrc: 16,
  myLba: 24,
  diskGuid: 56,
  entriesLba: 72,
  entryCount: 80,
  entryBytes: 84,
  entriesCrc: 88,
  end: 92,
} as const;

/** GPT partition entry, UEFI 2.10 section 5.3.3. */
const ENTRY = {
  typeGuid: 0,
  uniqueGuid: 16,
  firstLba: 32,
  lastLba: 40,
  attributes: 48,
  name: 56,
  nameBytes: 72,
} as const;

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
  if (header.length < HEADER.end || header.subarray(0, 8).toString('latin1') !== 'EFI PART') return undefined;
  const headerBytes = header.readUInt32LE(HEADER.headerBytes);
  if (headerBytes < HEADER.end || headerBytes > header.length) return undefined;
  const unsigned = Buffer.from(header.subarray(0, headerBytes));
  unsigned.writeUInt32LE(0, HEADER.headerCrc);
  if (crc32(unsigned) !== header.readUInt32LE(HEADER.headerCrc)) return undefined;
  if (header.readBigUInt64LE(HEADER.myLba) !== BigInt(lba)) return undefined;

  const count = header.readUInt32LE(HEADER.entryCount);
  const entryBytes = header.readUInt32LE(HEADER.entryBytes);
  const entriesLba = Number(header.readBigUInt64LE(HEADER.entriesLba));
  if (entryBytes < 128 || count * entryBytes > MAX_ENTRIES_BYTES || entriesLba > lastLba) return undefined;
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

/** A GUID as text: the first three fields are little-endian (UEFI 2.10, appendix A). */
export function guidAt(bytes: Buffer, at: number): string {
  const hex = (from: number, to: number) => bytes.subarray(at + from, at + to).toString('hex');
  const swapped = (from: number, to: number) =>
    Buffer.from(bytes.subarray(at + from, at + to))
      .reverse()
      .toString('hex');
  return `${swapped(0, 4)}-${swapped(4, 6)}-${swapped(6, 8)}-${hex(8, 10)}-${hex(10, 16)}`;
}
