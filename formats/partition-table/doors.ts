/*
 * The doors of a disk: the sectors by which firmware or a kernel finds a system on it. While they are zero nobody looks at the rest, so
 * what writes a disk shuts them before its first byte and opens them after its last one. Each stage is synced before the next
 * (decision 103).
 */

import { GPT_SIGNATURE } from './gpt-fields.ts';

/** Bytes that belong to this position of the disk. */
export interface Piece {
  position: number;
  bytes: Buffer;
}

/** Reads a part of a disk; what cannot be read is missing from the answer. */
type Read = (position: number, length: number) => Buffer;

interface Signature {
  at: number;
  magic: string;
}

/** What is found without a table: the superblocks of ext and btrfs, the volume descriptors of an ISO (also by UEFI: El Torito). */
const VOLUMES: readonly Signature[] = [
  { at: 1024 + 56, magic: '\x53\xef' },
  ...[32_768, 34_816, 36_864, 38_912].map((at) => ({ at: at + 1, magic: 'CD001' })),
  { at: 65_536 + 64, magic: '_BHRfS_M' },
];

/** LBA 0, at which everybody looks first, goes first: all that it led to is still as it was. `read` gives what is on the disk. */
export function shuttingStages(diskBytes: number, sectorSize: number, read: Read): Piece[][] {
  return doors(diskBytes, sectorSize, read).map((group) =>
    group.map((position) => ({ position, bytes: Buffer.alloc(sectorSize) })),
  );
}

/**
 * What is left to write when all else is on the disk, in which order: first everything but the doors, then these, LBA 0 last. Each is
 * opened when all that it leads to is on the medium. Of pieces that overlap, the later ones count.
 */
export function openingStages(pieces: readonly Piece[], diskBytes: number, sectorSize: number): Piece[][] {
  const sectorAt = (position: number) => {
    const sector = { position, bytes: Buffer.alloc(sectorSize) };
    for (const piece of pieces) lay(piece, sector);
    return sector;
  };
  const read: Read = (position, length) => {
    const offset = position % sectorSize;
    return sectorAt(position - offset).bytes.subarray(offset, offset + length);
  };
  const groups = doors(diskBytes, sectorSize, read).reverse();
  const shut = pieces.map(({ position, bytes }) => ({ position, bytes: Buffer.from(bytes) }));
  for (const piece of shut) {
    for (const position of groups.flat()) lay({ position, bytes: Buffer.alloc(sectorSize) }, piece);
  }
  return [shut, ...groups.map((group) => group.map(sectorAt))];
}

/** Positions of sectors, in the order in which they are shut. Where there is no signature there is no door, but data. */
function doors(diskBytes: number, sectorSize: number, read: Read): number[][] {
  const lastSector = (Math.floor(diskBytes / sectorSize) - 1) * sectorSize;
  const sectorOf = (position: number) => Math.floor(position / sectorSize) * sectorSize;
  const isThere = ({ at, magic }: Signature) => read(at, magic.length).toString('latin1') === magic;
  const found = (signatures: readonly Signature[]) => [
    ...new Set(signatures.filter(isThere).map(({ at }) => sectorOf(at))),
  ];
  const groups = [
    [0],
    found([
      { at: sectorSize, magic: GPT_SIGNATURE },
      { at: sectorSize, magic: 'LABELONE' }, // LVM
    ]),
    found([{ at: lastSector, magic: GPT_SIGNATURE }]),
    found(VOLUMES.filter(({ at }) => sectorOf(at) > 0)),
  ];
  return groups.filter((group) => group.length > 0);
}

/** Copies what one piece of the disk has of another one. */
function lay(from: Piece, onto: Piece): void {
  const start = Math.max(from.position, onto.position);
  const end = Math.min(from.position + from.bytes.length, onto.position + onto.bytes.length);
  if (start < end)
    from.bytes.copy(onto.bytes, start - onto.position, start - from.position, end - from.position);
}
