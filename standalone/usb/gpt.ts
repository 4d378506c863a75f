import { crc32 } from 'node:zlib';

export interface NewPartition {
  typeGuid: string;
  uniqueGuid: string;
  name: string;
  startBytes: number;
  sizeBytes: number;
  /** A BIOS boot loader (syslinux' gptmbr) starts this one. */
  isLegacyBoot?: boolean;
}

const SECTOR = 512;
const ENTRIES = 128;
const ENTRY_BYTES = 128;
const TABLE_SECTORS = (ENTRIES * ENTRY_BYTES) / SECTOR;
/** Sectors that the two copies of the table take at the start (with the protective MBR) and at the end. */
export const GPT_HEAD_BYTES = (2 + TABLE_SECTORS) * SECTOR;
export const GPT_TAIL_BYTES = (1 + TABLE_SECTORS) * SECTOR;

/** UEFI 2.10, 5.3.3: attribute bit 2. */
const LEGACY_BIOS_BOOTABLE = 0b100n;

/** Both copies of a GPT for 512-byte sectors, and the protective MBR with `bootCode` in it. */
export function encodeGpt(
  diskBytes: number,
  diskGuid: string,
  partitions: readonly NewPartition[],
  bootCode: Buffer = Buffer.alloc(0),
): { head: Buffer; tail: Buffer } {
  const lastLba = Math.floor(diskBytes / SECTOR) - 1;
  const entries = Buffer.concat([
    ...partitions.map(encodeEntry),
    Buffer.alloc((ENTRIES - partitions.length) * ENTRY_BYTES),
  ]);
  const header = (own: number, other: number, entriesLba: number) =>
    encodeHeader({ own, other, entriesLba, lastLba, diskGuid, entries });
  return {
    head: Buffer.concat([protectiveMbr(lastLba, bootCode), header(1, lastLba, 2), entries]),
    tail: Buffer.concat([entries, header(lastLba, 1, lastLba - TABLE_SECTORS)]),
  };
}

interface HeaderFields {
  own: number;
  other: number;
  entriesLba: number;
  lastLba: number;
  diskGuid: string;
  entries: Buffer;
}

/** UEFI 2.10, 5.3.2. */
function encodeHeader({ own, other, entriesLba, lastLba, diskGuid, entries }: HeaderFields): Buffer {
  const sector = Buffer.alloc(SECTOR);
  sector.write('EFI PART', 0, 'latin1');
  sector.writeUInt32LE(0x00010000, 8); // revision
  sector.writeUInt32LE(92, 12); // header size
  sector.writeBigUInt64LE(BigInt(own), 24);
  sector.writeBigUInt64LE(BigInt(other), 32);
  sector.writeBigUInt64LE(BigInt(2 + TABLE_SECTORS), 40); // first usable
  sector.writeBigUInt64LE(BigInt(lastLba - TABLE_SECTORS - 1), 48); // last usable
  encodeGuid(diskGuid).copy(sector, 56);
  sector.writeBigUInt64LE(BigInt(entriesLba), 72);
  sector.writeUInt32LE(ENTRIES, 80);
  sector.writeUInt32LE(ENTRY_BYTES, 84);
  sector.writeUInt32LE(crc32(entries), 88);
  sector.writeUInt32LE(crc32(sector.subarray(0, 92)), 16);
  return sector;
}

/** UEFI 2.10, 5.3.3. */
function encodeEntry({
  typeGuid,
  uniqueGuid,
  name,
  startBytes,
  sizeBytes,
  isLegacyBoot,
}: NewPartition): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES);
  encodeGuid(typeGuid).copy(entry, 0);
  encodeGuid(uniqueGuid).copy(entry, 16);
  entry.writeBigUInt64LE(BigInt(startBytes / SECTOR), 32);
  entry.writeBigUInt64LE(BigInt((startBytes + sizeBytes) / SECTOR - 1), 40);
  entry.writeBigUInt64LE(isLegacyBoot ? LEGACY_BIOS_BOOTABLE : 0n, 48);
  entry.write(name, 56, 72, 'utf16le');
  return entry;
}

/** UEFI 2.10, 5.2.3: one entry of type EE over the whole disk. */
function protectiveMbr(lastLba: number, bootCode: Buffer): Buffer {
  const sector = Buffer.alloc(SECTOR);
  bootCode.copy(sector, 0, 0, 440);
  sector.writeUIntBE(0x000200, 447, 3); // first CHS
  sector[450] = 0xee;
  sector.writeUIntBE(0xffffff, 451, 3); // last CHS
  sector.writeUInt32LE(1, 454);
  sector.writeUInt32LE(Math.min(lastLba, 0xffffffff), 458);
  sector.writeUInt16LE(0xaa55, 510);
  return sector;
}

/** The first three fields of a GUID are little-endian. */
function encodeGuid(text: string): Buffer {
  const bytes = Buffer.from(text.replaceAll('-', ''), 'hex');
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes;
}
