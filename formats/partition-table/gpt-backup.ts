import type { GptPlace } from '../image-manifest.ts';
import {
  HEADER,
  MAX_MBR_SECTORS,
  MBR,
  MBR_SIGNATURE,
  PROTECTIVE_TYPE,
  primaryHeader,
  sealHeader,
} from './gpt-fields.ts';

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
  const primary = primaryHeader(head, sectorSize);
  const lastLba = Math.floor(diskBytes / sectorSize) - 1;
  if (!primary || Number(primary.readBigUInt64LE(HEADER.alternateLba)) >= lastLba) return undefined;
  const entriesBytes = primary.readUInt32LE(HEADER.entryCount) * primary.readUInt32LE(HEADER.entryBytes);
  const entriesAt = Number(primary.readBigUInt64LE(HEADER.entriesLba)) * sectorSize;
  const entriesSectors = Math.ceil(entriesBytes / sectorSize);
  if (entriesAt + entriesSectors * sectorSize > head.length) return undefined;
  const backupEntriesLba = lastLba - entriesSectors;

  primary.writeBigUInt64LE(BigInt(lastLba), HEADER.alternateLba);
  primary.writeBigUInt64LE(BigInt(backupEntriesLba - 1), HEADER.lastUsableLba);
  sealHeader(primary);
  const backup = Buffer.from(primary);
  backup.writeBigUInt64LE(BigInt(lastLba), HEADER.myLba);
  backup.writeBigUInt64LE(1n, HEADER.alternateLba);
  backup.writeBigUInt64LE(BigInt(backupEntriesLba), HEADER.entriesLba);
  sealHeader(backup);
  growProtectiveMbr(head, lastLba);
  const entries = head.subarray(entriesAt, entriesAt + entriesSectors * sectorSize);
  return {
    head,
    backup: { position: backupEntriesLba * sectorSize, bytes: Buffer.concat([entries, backup]) },
  };
}

/** What the move changes in the first MiB, as it stands in the image. */
export function readGptPlace(head: Buffer): GptPlace | undefined {
  for (const sectorSize of [512, 4096]) {
    const header = primaryHeader(head, sectorSize);
    if (!header) continue;
    return {
      sectorSize,
      alternateLba: Number(header.readBigUInt64LE(HEADER.alternateLba)),
      lastUsableLba: Number(header.readBigUInt64LE(HEADER.lastUsableLba)),
      protectiveSectors: head.readUInt32LE(MBR.entry + MBR.sectors),
    };
  }
  return undefined;
}

/** Undoes the move in a first MiB read from a disk, so that it can be compared with the image it came from. */
export function restoreGpt(moved: Buffer, place: GptPlace): Buffer {
  const head = Buffer.from(moved);
  const primary = primaryHeader(head, place.sectorSize);
  if (!primary) return head;
  primary.writeBigUInt64LE(BigInt(place.alternateLba), HEADER.alternateLba);
  primary.writeBigUInt64LE(BigInt(place.lastUsableLba), HEADER.lastUsableLba);
  sealHeader(primary);
  setProtectiveSectors(head, place.protectiveSectors);
  return head;
}

/** A hybrid MBR (more than the protective entry) is left as it is. */
function growProtectiveMbr(head: Buffer, lastLba: number): void {
  if (head.readUInt16LE(MBR.signature) !== MBR_SIGNATURE) return;
  setProtectiveSectors(head, Math.min(lastLba, MAX_MBR_SECTORS));
}

function setProtectiveSectors(head: Buffer, sectors: number): void {
  if (head[MBR.entry + MBR.type] === PROTECTIVE_TYPE) head.writeUInt32LE(sectors, MBR.entry + MBR.sectors);
}
