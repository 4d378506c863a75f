import { crc32 } from 'node:zlib';
import type { DiskView } from './find-system.ts';

const ENTRIES_BYTES = 128 * 128;

/** The entries of the GUID partition table as firmware and kernel take it: with a protective MBR, the first of the two copies that is right. */
export function tableOf(disk: DiskView): Buffer | undefined {
  const mbr = disk.sector(0);
  if (mbr.readUInt16LE(510) !== 0xaa55 || mbr[450] !== 0xee) return undefined;
  return entriesBy(disk, 1) ?? entriesBy(disk, disk.sectorCount - 1);
}

function entriesBy(disk: DiskView, lba: number): Buffer | undefined {
  const header = Buffer.from(disk.sector(lba).subarray(0, 92));
  if (header.toString('latin1', 0, 8) !== 'EFI PART' || Number(header.readBigUInt64LE(24)) !== lba)
    return undefined;
  const [headerCrc, entriesCrc] = [header.readUInt32LE(16), header.readUInt32LE(88)];
  header.writeUInt32LE(0, 16);
  if (crc32(header) !== headerCrc) return undefined;
  const first = Number(header.readBigUInt64LE(72));
  const sectors = Array.from({ length: ENTRIES_BYTES / disk.sectorSize }, (_, i) => disk.sector(first + i));
  const entries = Buffer.concat(sectors);
  return crc32(entries) === entriesCrc ? entries : undefined;
}
