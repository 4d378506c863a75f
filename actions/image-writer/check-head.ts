import { findMbrSectorSize } from '../../formats/disk-signatures/mbr-sector-size.ts';
import { type ImageTable, readImageTable } from '../../formats/partition-table/image-table.ts';
import { KindlingError } from '../../protocol/error.ts';
import { checkNotNested } from './formats.ts';
import type { ImageFormat } from './interface.ts';
import type { Target } from './target/target.ts';

/** The table of an image; without a sector size where nobody can know it. */
export type FoundTable = Omit<ImageTable, 'sectorSize'> & { sectorSize: number | undefined };

/** What the first bytes tell, before anything is written: does this image fit this disk? */
export async function checkHead(
  head: Buffer,
  format: ImageFormat,
  target: Target,
  source: string,
): Promise<FoundTable | undefined> {
  checkNotNested(head, format, source);
  const table = await findTable(head, target.sectorSize);
  if (!table) return undefined;
  const { sectorSize = target.sectorSize } = table;
  if (sectorSize !== target.sectorSize && target.isBlockDevice) {
    throw new KindlingError(
      'KND_IMAGE_SECTOR_SIZE',
      `${source} was made for ${sectorSize}-byte sectors, ${target.path} has ${target.sectorSize}-byte sectors`,
    );
  }
  checkFits(table.neededBytes, target, source);
  return table;
}

/** An MBR counts in sectors of a size that only its partitions tell, if anything does. */
async function findTable(head: Buffer, preferred: number): Promise<FoundTable | undefined> {
  const table = readImageTable(head, preferred);
  if (table?.kind !== 'mbr') return table;
  const sectorSize = await findMbrSectorSize(head);
  const neededBytes = (table.neededBytes / table.sectorSize) * (sectorSize ?? table.sectorSize);
  return { kind: 'mbr', sectorSize, neededBytes };
}

export function checkFits(bytes: number, target: Target, source: string): void {
  if (bytes <= target.size) return;
  throw new KindlingError(
    'KND_IMAGE_TOO_LARGE',
    `${source} needs ${bytes} bytes, ${target.path} has ${target.size}`,
    { evidence: { needed: bytes, available: target.size } },
  );
}
