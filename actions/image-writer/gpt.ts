import { crc32 } from 'node:zlib';
import type { GptPlace } from '../../protocol/image-manifest.ts';

/** GPT header, UEFI 2.10 section 5.3.2: the fields that change when the backup moves. */
const HEADER = {
  size: 12,
  crc: 16,
  myLba: 24,
  alternateLba: 32,
  lastUsableLba: 48,
  entriesLba: 72,
  entryCount: 80,
  entryBytes: 84,
} as const;
const SIGNATURE = 'EFI PART';
/** MBR: first partition entry, its type, start and count; boot signature. */
const MBR_ENTRY = 446;
const MBR_SIGNATURE = 510;
const PROTECTIVE = 0xee;

/** What the first MiB of an image says about the disk it was made for. */
export interface ImageTable {
  kind: 'gpt' | 'mbr';
  sectorSize: number;
  /** The size a disk must at least have. */
  neededBytes: number;
}

/** Reads the table of an image from its first MiB; `preferred` decides for images that carry one for each size. */
export function readImageTable(head: Buffer, preferred: number): ImageTable | undefined {
  for (const sectorSize of new Set([preferred, 512, 4096])) {
    const header = headerAt(head, sectorSize);
    if (header) {
      const lastLba = Number(header.readBigUInt64LE(HEADER.alternateLba));
      return { kind: 'gpt', sectorSize, neededBytes: (lastLba + 1) * sectorSize };
    }
  }
  if (head.length < 512 || head.readUInt16LE(MBR_SIGNATURE) !== 0xaa55) return undefined;
  const ends = [0, 1, 2, 3].map((i) => {
    const at = MBR_ENTRY + i * 16;
    const isUsed = head[at + 4] !== 0 && head[at + 4] !== PROTECTIVE;
    return isUsed ? (head.readUInt32LE(at + 8) + head.readUInt32LE(at + 12)) * 512 : 0;
  });
  return { kind: 'mbr', sectorSize: 512, neededBytes: Math.max(...ends) };
}

function headerAt(head: Buffer, sectorSize: number): Buffer | undefined {
  const header = head.subarray(sectorSize, sectorSize * 2);
  if (header.length < 92 || header.toString('latin1', 0, 8) !== SIGNATURE) return undefined;
  return header;
}

export interface MovedTable {
  /** The first MiB with a primary header that names the new place. */
  head: Buffer;
  backup: { position: number; bytes: Buffer };
}

/**
 * Moves the backup table to the end of a larger disk, as `sgdisk -e` does: both headers name the new place and the
 * partitions may grow into the new space. Undefined when there is no GPT or nothing to move.
 */
export function moveBackupGpt(
  originalHead: Buffer,
  diskBytes: number,
  sectorSize: number,
): MovedTable | undefined {
  const head = Buffer.from(originalHead);
  const primary = headerAt(head, sectorSize);
  const lastLba = Math.floor(diskBytes / sectorSize) - 1;
  if (!primary || Number(primary.readBigUInt64LE(HEADER.alternateLba)) >= lastLba) return undefined;
  const entriesBytes = primary.readUInt32LE(HEADER.entryCount) * primary.readUInt32LE(HEADER.entryBytes);
  const entriesAt = Number(primary.readBigUInt64LE(HEADER.entriesLba)) * sectorSize;
  const entriesSectors = Math.ceil(entriesBytes / sectorSize);
  if (entriesAt + entriesSectors * sectorSize > head.length) return undefined;
  const backupEntriesLba = lastLba - entriesSectors;

  primary.writeBigUInt64LE(BigInt(lastLba), HEADER.alternateLba);
  primary.writeBigUInt64LE(BigInt(backupEntriesLba - 1), HEADER.lastUsableLba);
  seal(primary);
  const backup = Buffer.from(primary);
  backup.writeBigUInt64LE(BigInt(lastLba), HEADER.myLba);
  backup.writeBigUInt64LE(1n, HEADER.alternateLba);
  backup.writeBigUInt64LE(BigInt(backupEntriesLba), HEADER.entriesLba);
  seal(backup);
  growProtectiveMbr(head, lastLba);
  const entries = head.subarray(entriesAt, entriesAt + entriesSectors * sectorSize);
  return {
    head,
    backup: { position: backupEntriesLba * sectorSize, bytes: Buffer.concat([entries, backup]) },
  };
}

/** Undoes the move in a first MiB read from a disk, so that it can be compared with the image it came from. */
export function restoreGpt(moved: Buffer, place: GptPlace): Buffer {
  const head = Buffer.from(moved);
  const primary = headerAt(head, place.sectorSize);
  if (!primary) return head;
  primary.writeBigUInt64LE(BigInt(place.alternateLba), HEADER.alternateLba);
  primary.writeBigUInt64LE(BigInt(place.lastUsableLba), HEADER.lastUsableLba);
  seal(primary);
  if (head[MBR_ENTRY + 4] === PROTECTIVE) head.writeUInt32LE(place.protectiveSectors, MBR_ENTRY + 12);
  return head;
}

/** A hybrid MBR (more than the protective entry) is left as it is. */
function growProtectiveMbr(head: Buffer, lastLba: number): void {
  const isProtective = head.readUInt16LE(MBR_SIGNATURE) === 0xaa55 && head[MBR_ENTRY + 4] === PROTECTIVE;
  if (isProtective) head.writeUInt32LE(Math.min(lastLba, 0xffffffff), MBR_ENTRY + 12);
}

function seal(header: Buffer): void {
  const size = header.readUInt32LE(HEADER.size);
  header.writeUInt32LE(0, HEADER.crc);
  header.writeUInt32LE(crc32(header.subarray(0, size)), HEADER.crc);
}
