import { crc32 } from 'node:zlib';

/** GPT header, UEFI 2.10 section 5.3.2: field offsets. All numbers are little-endian. */
export const HEADER = {
  signature: 0,
  revision: 8,
  headerBytes: 12,
  headerCrc: 16,
  myLba: 24,
  alternateLba: 32,
  firstUsableLba: 40,
  lastUsableLba: 48,
  diskGuid: 56,
  entriesLba: 72,
  entryCount: 80,
  entryBytes: 84,
  entriesCrc: 88,
  end: 92,
} as const;

/** GPT partition entry, section 5.3.3. */
export const ENTRY = {
  typeGuid: 0,
  uniqueGuid: 16,
  firstLba: 32,
  lastLba: 40,
  attributes: 48,
  name: 56,
  nameBytes: 72,
  end: 128,
} as const;

/** Bit 2 of an entry's attributes: a BIOS boot loader (syslinux' gptmbr) starts this partition. */
export const LEGACY_BIOS_BOOTABLE = 0b100n;

/** The MBR, section 5.2: its first partition entry and the fields of it, and the two bytes at its end. */
export const MBR = {
  bootCodeBytes: 440,
  entry: 446,
  type: 4,
  firstLba: 8,
  sectors: 12,
  signature: 510,
} as const;
export const MBR_SIGNATURE = 0xaa55;
export const PROTECTIVE_TYPE = 0xee;
export const MAX_MBR_SECTORS = 0xffff_ffff;

export const GPT_SIGNATURE = 'EFI PART';

export function isGptHeader(sector: Buffer): boolean {
  return sector.length >= HEADER.end && sector.toString('latin1', 0, 8) === GPT_SIGNATURE;
}

/** The checksum that a header should carry: of itself with the checksum's own field as zero. */
export function headerCrc(header: Buffer): number {
  const bytes = Buffer.from(header.subarray(0, header.readUInt32LE(HEADER.headerBytes)));
  bytes.writeUInt32LE(0, HEADER.headerCrc);
  return crc32(bytes);
}

export function sealHeader(header: Buffer): void {
  header.writeUInt32LE(headerCrc(header), HEADER.headerCrc);
}

/** The primary header in the first sectors of a disk. */
export function primaryHeader(head: Buffer, sectorSize: number): Buffer | undefined {
  const header = head.subarray(sectorSize, sectorSize * 2);
  return isGptHeader(header) ? header : undefined;
}
