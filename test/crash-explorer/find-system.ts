import { crc32 } from 'node:zlib';

/** A disk as a firmware or a kernel sees it. */
export interface DiskView {
  sectorSize: number;
  sectorCount: number;
  sector: (number: number) => Buffer;
}

/** The ways on which somebody would find a system on this disk; none: it does not boot, and nothing is mounted from it. */
export function findSystems(disk: DiskView): string[] {
  return [
    ...(hasBootSector(disk) ? ['boot sector'] : []),
    ...(hasTable(disk, 1) ? ['table'] : []),
    ...(hasTable(disk, disk.sectorCount - 1) ? ['backup table'] : []),
    ...(hasVolume(disk) ? ['ISO volume'] : []),
    ...(hasFileSystem(disk) ? ['file system'] : []),
  ];
}

/** Sectors by which the others of this system are found: one of them may be missing, and it is found on another way, whole. */
export function finderSectors(disk: DiskView): Set<number> {
  const { sectorSize, sectorCount } = disk;
  const places = [
    ...[1, sectorCount - 1].map((lba) => ({ at: lba * sectorSize, magic: 'EFI PART' })),
    ...VOLUME_DESCRIPTORS.map((at) => ({ at: at + 1, magic: 'CD001' })),
    ...SIGNATURES,
  ];
  const found = places.filter(
    ({ at, magic }) => bytesAt(disk, at, magic.length).toString('latin1') === magic,
  );
  return new Set([0, ...found.map(({ at }) => Math.floor(at / sectorSize))]);
}

const bytesAt = ({ sector, sectorSize }: DiskView, position: number, length: number) => {
  const offset = position % sectorSize;
  return sector(Math.floor(position / sectorSize)).subarray(offset, offset + length);
};

/** SeaBIOS (boot.c, boot_disk) starts any sector with this signature; UEFI and Linux look for partitions only behind it. */
function hasBootSector(disk: DiskView): boolean {
  return disk.sector(0).readUInt16LE(510) === 0xaa55;
}

/**
 * UEFI 2.10 5.3.2, as EDK2 (Gpt.c) and Linux (efi.c) check it. Both want a protective MBR before; firmware that does not is thought of
 * here, so a table counts without one.
 */
function hasTable(disk: DiskView, lba: number): boolean {
  const header = Buffer.from(disk.sector(lba));
  if (header.toString('latin1', 0, 8) !== 'EFI PART') return false;
  const [length, crc] = [header.readUInt32LE(12), header.readUInt32LE(16)];
  if (length < 92 || length > header.length) return false;
  header.writeUInt32LE(0, 16);
  if (crc32(header.subarray(0, length)) !== crc || Number(header.readBigUInt64LE(24)) !== lba) return false;
  const first = Number(header.readBigUInt64LE(72));
  const bytes = header.readUInt32LE(80) * header.readUInt32LE(84);
  const count = Math.ceil(bytes / disk.sectorSize);
  if (first + count > disk.sectorCount) return false;
  const entries = Buffer.concat(Array.from({ length: count }, (_, i) => disk.sector(first + i)));
  return crc32(entries.subarray(0, bytes)) === header.readUInt32LE(88);
}

/** ECMA-119 8: EDK2 (ElTorito.c) walks these on every disk, whatever LBA 0 says. */
const VOLUME_DESCRIPTORS = [32_768, 34_816, 36_864, 38_912];
const hasVolume = (disk: DiskView) =>
  VOLUME_DESCRIPTORS.some(
    (at) =>
      at + 6 <= disk.sectorCount * disk.sectorSize && bytesAt(disk, at + 1, 5).toString('latin1') === 'CD001',
  );

/** File systems and volumes on a disk without a table, where the kernel (or udev for it) looks for them. */
const SIGNATURES = [
  { at: 0, magic: 'XFSB' },
  { at: 0, magic: 'LUKS' },
  { at: 512, magic: 'LABELONE' },
  { at: 1024 + 56, magic: '\x53\xef' },
  { at: 65_536 + 64, magic: '_BHRfS_M' },
];
const hasFileSystem = (disk: DiskView) =>
  SIGNATURES.some(
    ({ at, magic }) =>
      at < disk.sectorCount * disk.sectorSize && bytesAt(disk, at, magic.length).toString('latin1') === magic,
  );
