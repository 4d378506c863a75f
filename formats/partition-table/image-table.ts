import { HEADER, MBR, MBR_SIGNATURE, PROTECTIVE_TYPE, primaryHeader } from './gpt-fields.ts';
import { isBootSectorOfFileSystem } from './mbr-read.ts';

/** What the first MiB of an image says about the disk it was made for. */
export interface ImageTable {
  kind: 'gpt' | 'mbr' | 'iso';
  sectorSize: number;
  /** The size a disk must at least have. */
  neededBytes: number;
}

/** Reads the table of an image from its first MiB; `preferred` decides for images that carry one for each size. */
export function readImageTable(head: Buffer, preferred: number): ImageTable | undefined {
  for (const sectorSize of new Set([preferred, 512, 4096])) {
    const header = primaryHeader(head, sectorSize);
    if (header) {
      const lastLba = Number(header.readBigUInt64LE(HEADER.alternateLba));
      return { kind: 'gpt', sectorSize, neededBytes: (lastLba + 1) * sectorSize };
    }
  }
  const hasMbr = head.length >= 512 && head.readUInt16LE(MBR.signature) === MBR_SIGNATURE;
  if (!hasMbr || isBootSectorOfFileSystem(head)) return readIsoVolume(head);
  const ends = [0, 1, 2, 3].map((i) => {
    const at = MBR.entry + i * 16;
    const isUsed = head[at + MBR.type] !== 0 && head[at + MBR.type] !== PROTECTIVE_TYPE;
    return isUsed ? (head.readUInt32LE(at + MBR.firstLba) + head.readUInt32LE(at + MBR.sectors)) * 512 : 0;
  });
  return { kind: 'mbr', sectorSize: 512, neededBytes: Math.max(...ends) };
}

/** ECMA-119 8.4: the primary volume descriptor in sector 16; its both-endian numbers are read in their first half. */
const ISO = { at: 32_768, id: 1, volumeBlocks: 80, blockBytes: 128, end: 2048 } as const;

/** An ISO without a partition table says how long it is, too. */
function readIsoVolume(head: Buffer): ImageTable | undefined {
  const volume = head.subarray(ISO.at, ISO.at + ISO.end);
  const isPrimary = volume.length === ISO.end && volume[0] === 1;
  if (!isPrimary || volume.toString('latin1', ISO.id, ISO.id + 5) !== 'CD001') return undefined;
  const neededBytes = volume.readUInt32LE(ISO.volumeBlocks) * volume.readUInt16LE(ISO.blockBytes);
  return { kind: 'iso', sectorSize: 512, neededBytes };
}
