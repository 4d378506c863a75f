import { crc32 } from 'node:zlib';
import type { PartitionEntry } from '../../agent/system/partition-table.ts';
import { KindlingError } from '../../protocol/error.ts';
import { guidToBytes } from '../boot-order/guid.ts';

export interface GptLayout {
  diskGuid: string;
  sectorBytes: number;
  sizeBytes: number;
  partitions: readonly PartitionEntry[];
  /** The first 440 bytes of the disk, if they are to stay. */
  bootCode?: Buffer;
}

/** Bytes and where they go; in the order in which they should be written: the backup is good before the primary changes. */
interface Piece {
  offset: number;
  bytes: Buffer;
}

const ENTRY_COUNT = 128;
const ENTRY_BYTES = 128;
const REVISION = 0x0001_0000;

/** Where partitions may lie: after the primary table, before the backup. Bytes. */
export function usableRange({ sectorBytes, sizeBytes }: Pick<GptLayout, 'sectorBytes' | 'sizeBytes'>) {
  const tableSectors = Math.ceil((ENTRY_COUNT * ENTRY_BYTES) / sectorBytes);
  const sectors = Math.floor(sizeBytes / sectorBytes);
  return { start: (2 + tableSectors) * sectorBytes, end: (sectors - 1 - tableSectors) * sectorBytes };
}

/** Both copies of a GUID partition table (UEFI 2.10, section 5.3) and the protective MBR. */
export function encodeGpt(layout: GptLayout): Piece[] {
  checkLayout(layout);
  const { sectorBytes, sizeBytes } = layout;
  const sectors = Math.floor(sizeBytes / sectorBytes);
  const entries = encodeEntries(layout);
  const tableSectors = Math.ceil(entries.length / sectorBytes);
  const table = Buffer.alloc(tableSectors * sectorBytes);
  entries.copy(table);
  const header = (own: number, other: number, entriesAt: number) =>
    encodeHeader(layout, { own, other, entriesAt, sectors, tableSectors, entriesCrc: crc32(entries) });
  const backupTableAt = sectors - 1 - tableSectors;
  return [
    {
      offset: backupTableAt * sectorBytes,
      bytes: Buffer.concat([table, header(sectors - 1, 1, backupTableAt)]),
    },
    { offset: 0, bytes: Buffer.concat([protectiveMbr(layout, sectors), header(1, sectors - 1, 2), table]) },
  ];
}

/** Partitions that overlap, leave the disk or share a number would destroy each other. */
function checkLayout(layout: GptLayout): void {
  const { start, end } = usableRange(layout);
  const sorted = layout.partitions.toSorted((a, b) => a.startBytes - b.startBytes);
  for (const [index, partition] of sorted.entries()) {
    const { number, startBytes, sizeBytes } = partition;
    const previous = sorted[index - 1];
    const problem =
      startBytes < start || startBytes + sizeBytes > end
        ? 'lies outside the disk'
        : previous && previous.startBytes + previous.sizeBytes > startBytes
          ? `overlaps partition ${previous.number}`
          : startBytes % layout.sectorBytes !== 0 || sizeBytes % layout.sectorBytes !== 0 || sizeBytes <= 0
            ? 'is not made of whole sectors'
            : number < 1 ||
                number > ENTRY_COUNT ||
                sorted.some((other) => other !== partition && other.number === number)
              ? 'has a number that is taken or out of range'
              : undefined;
    if (problem)
      throw new KindlingError('KND_PARTITION_LAYOUT', `partition ${number} ${problem}`, {
        evidence: { partition },
      });
  }
}

/** Section 5.3.3. */
function encodeEntries({ partitions, sectorBytes }: GptLayout): Buffer {
  const entries = Buffer.alloc(ENTRY_COUNT * ENTRY_BYTES);
  for (const {
    number,
    startBytes,
    sizeBytes,
    type,
    partUuid = '',
    partLabel = '',
    attributes = 0n,
  } of partitions) {
    const at = (number - 1) * ENTRY_BYTES;
    guidToBytes(type).copy(entries, at);
    guidToBytes(partUuid).copy(entries, at + 16);
    entries.writeBigUInt64LE(BigInt(startBytes / sectorBytes), at + 32);
    entries.writeBigUInt64LE(BigInt((startBytes + sizeBytes) / sectorBytes - 1), at + 40);
    entries.writeBigUInt64LE(attributes, at + 48);
    entries.write(partLabel.slice(0, 36), at + 56, 'utf16le');
  }
  return entries;
}

/** Section 5.3.2. */
function encodeHeader(
  layout: GptLayout,
  at: {
    own: number;
    other: number;
    entriesAt: number;
    sectors: number;
    tableSectors: number;
    entriesCrc: number;
  },
): Buffer {
  const header = Buffer.alloc(layout.sectorBytes);
  header.write('EFI PART', 0, 'latin1');
  header.writeUInt32LE(REVISION, 8);
  header.writeUInt32LE(92, 12);
  header.writeBigUInt64LE(BigInt(at.own), 24);
  header.writeBigUInt64LE(BigInt(at.other), 32);
  header.writeBigUInt64LE(BigInt(2 + at.tableSectors), 40);
  header.writeBigUInt64LE(BigInt(at.sectors - 2 - at.tableSectors), 48);
  guidToBytes(layout.diskGuid).copy(header, 56);
  header.writeBigUInt64LE(BigInt(at.entriesAt), 72);
  header.writeUInt32LE(ENTRY_COUNT, 80);
  header.writeUInt32LE(ENTRY_BYTES, 84);
  header.writeUInt32LE(at.entriesCrc, 88);
  header.writeUInt32LE(crc32(header.subarray(0, 92)), 16);
  return header;
}

/** Section 5.2.3: one partition of type 0xEE over the whole disk. */
function protectiveMbr({ sectorBytes, bootCode }: GptLayout, sectors: number): Buffer {
  const mbr = Buffer.alloc(sectorBytes);
  bootCode?.copy(mbr, 0, 0, 440);
  mbr.set([0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff], 446);
  mbr.writeUInt32LE(1, 454);
  mbr.writeUInt32LE(Math.min(sectors - 1, 0xffff_ffff), 458);
  mbr.set([0x55, 0xaa], 510);
  return mbr;
}
