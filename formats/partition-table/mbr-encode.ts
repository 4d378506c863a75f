import { KindlingError } from '../../protocol/error.ts';
import { MAX_MBR_SECTORS, MBR, MBR_SIGNATURE } from './gpt-fields.ts';

export interface MbrPartition {
  /** 1 to 4: primary partitions only. */
  number: number;
  startBytes: number;
  sizeBytes: number;
  /** 0x83 and the like. */
  type: number;
  /** The one a BIOS boots. */
  isActive: boolean;
}

const ENTRY_BYTES = 16;
const ACTIVE = 0x80;
/** "Look at the sector numbers instead": no disk of today has cylinders and heads. */
const NO_CHS = [0xfe, 0xff, 0xff] as const;

/** A DOS partition table (UEFI 2.10 section 5.2.1): the first sector of the disk. */
export function encodeMbr(layout: {
  sectorBytes: number;
  sizeBytes: number;
  /** The kernel makes PARTUUIDs from it. */
  diskSignature: number;
  partitions: readonly MbrPartition[];
  bootCode?: Buffer;
}): Buffer {
  const sector = Buffer.alloc(layout.sectorBytes);
  layout.bootCode?.copy(sector, 0, 0, MBR.bootCodeBytes);
  sector.writeUInt32LE(layout.diskSignature >>> 0, MBR.bootCodeBytes);
  const sorted = layout.partitions.toSorted((a, b) => a.startBytes - b.startBytes);
  for (const [index, partition] of sorted.entries()) {
    const problem = whyNot(partition, sorted[index - 1], layout);
    if (problem)
      throw new KindlingError('KND_PARTITION_LAYOUT', `partition ${partition.number} ${problem}`, {
        evidence: { partition },
      });
    const at = MBR.entry + (partition.number - 1) * ENTRY_BYTES;
    sector.writeUInt8(partition.isActive ? ACTIVE : 0, at);
    sector.set(NO_CHS, at + 1);
    sector.writeUInt8(partition.type, at + MBR.type);
    sector.set(NO_CHS, at + MBR.type + 1);
    sector.writeUInt32LE(partition.startBytes / layout.sectorBytes, at + MBR.firstLba);
    sector.writeUInt32LE(partition.sizeBytes / layout.sectorBytes, at + MBR.sectors);
  }
  sector.writeUInt16LE(MBR_SIGNATURE, MBR.signature);
  return sector;
}

function whyNot(
  { number, startBytes, sizeBytes }: MbrPartition,
  previous: MbrPartition | undefined,
  disk: { sectorBytes: number; sizeBytes: number },
): string | undefined {
  if (!Number.isInteger(number) || number < 1 || number > 4) return 'is not one of the four an MBR can have';
  if (previous && previous.startBytes + previous.sizeBytes > startBytes)
    return `overlaps partition ${previous.number}`;
  if (startBytes < disk.sectorBytes || sizeBytes <= 0 || startBytes + sizeBytes > disk.sizeBytes)
    return 'lies outside the disk';
  if (startBytes % disk.sectorBytes !== 0 || sizeBytes % disk.sectorBytes !== 0)
    return 'is not made of whole sectors';
  if ((startBytes + sizeBytes) / disk.sectorBytes > MAX_MBR_SECTORS)
    return 'is beyond what an MBR can address';
  return undefined;
}
