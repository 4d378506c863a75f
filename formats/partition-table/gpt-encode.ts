import { crc32 } from 'node:zlib';
import { KindlingError } from '../../protocol/error.ts';
import { guidToBytes } from '../guid.ts';
import {
  ENTRY,
  GPT_SIGNATURE,
  HEADER,
  MAX_MBR_SECTORS,
  MBR,
  MBR_SIGNATURE,
  PROTECTIVE_TYPE,
  sealHeader,
} from './gpt-fields.ts';
import type { PartitionEntry } from './table.ts';

export interface GptLayout {
  diskGuid: string;
  sectorBytes: number;
  sizeBytes: number;
  partitions: readonly PartitionEntry[];
  /** The first 440 bytes of the disk, if they are to stay. */
  bootCode?: Buffer;
}

/** Bytes and where they go; in the order in which they should be written: the backup is good before the primary changes. */
export interface Piece {
  offset: number;
  bytes: Buffer;
}

const ENTRY_COUNT = 128;
const REVISION = 0x0001_0000;

/** Where partitions may lie: after the primary table, before the backup. Bytes. */
export function usableRange({ sectorBytes, sizeBytes }: Pick<GptLayout, 'sectorBytes' | 'sizeBytes'>) {
  const tableSectors = Math.ceil((ENTRY_COUNT * ENTRY.end) / sectorBytes);
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
  const entries = Buffer.alloc(ENTRY_COUNT * ENTRY.end);
  for (const {
    number,
    startBytes,
    sizeBytes,
    type,
    partUuid = '',
    partLabel = '',
    attributes = 0n,
  } of partitions) {
    const at = (number - 1) * ENTRY.end;
    guidToBytes(type).copy(entries, at + ENTRY.typeGuid);
    guidToBytes(partUuid).copy(entries, at + ENTRY.uniqueGuid);
    entries.writeBigUInt64LE(BigInt(startBytes / sectorBytes), at + ENTRY.firstLba);
    entries.writeBigUInt64LE(BigInt((startBytes + sizeBytes) / sectorBytes - 1), at + ENTRY.lastLba);
    entries.writeBigUInt64LE(attributes, at + ENTRY.attributes);
    entries.write(partLabel, at + ENTRY.name, ENTRY.nameBytes, 'utf16le');
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
  header.write(GPT_SIGNATURE, HEADER.signature, 'latin1');
  header.writeUInt32LE(REVISION, HEADER.revision);
  header.writeUInt32LE(HEADER.end, HEADER.headerBytes);
  header.writeBigUInt64LE(BigInt(at.own), HEADER.myLba);
  header.writeBigUInt64LE(BigInt(at.other), HEADER.alternateLba);
  header.writeBigUInt64LE(BigInt(2 + at.tableSectors), HEADER.firstUsableLba);
  header.writeBigUInt64LE(BigInt(at.sectors - 2 - at.tableSectors), HEADER.lastUsableLba);
  guidToBytes(layout.diskGuid).copy(header, HEADER.diskGuid);
  header.writeBigUInt64LE(BigInt(at.entriesAt), HEADER.entriesLba);
  header.writeUInt32LE(ENTRY_COUNT, HEADER.entryCount);
  header.writeUInt32LE(ENTRY.end, HEADER.entryBytes);
  header.writeUInt32LE(at.entriesCrc, HEADER.entriesCrc);
  sealHeader(header);
  return header;
}

/** Section 5.2.3: one partition of type 0xEE over the whole disk. */
function protectiveMbr({ sectorBytes, bootCode }: GptLayout, sectors: number): Buffer {
  const mbr = Buffer.alloc(sectorBytes);
  bootCode?.copy(mbr, 0, 0, MBR.bootCodeBytes);
  mbr.set([0, 0, 2, 0, PROTECTIVE_TYPE, 0xff, 0xff, 0xff], MBR.entry);
  mbr.writeUInt32LE(1, MBR.entry + MBR.firstLba);
  mbr.writeUInt32LE(Math.min(sectors - 1, MAX_MBR_SECTORS), MBR.entry + MBR.sectors);
  mbr.writeUInt16LE(MBR_SIGNATURE, MBR.signature);
  return mbr;
}
