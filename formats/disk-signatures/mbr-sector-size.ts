import { MBR, PROTECTIVE_TYPE } from '../partition-table/gpt-fields.ts';
import { probeSignatures } from './probe.ts';

const SECTOR_SIZES = [512, 4096] as const;

/**
 * An MBR does not say for which sectors its numbers were made. What lies where its entries lead does: with one size a file system begins
 * there, with the other nothing does. Undefined if the first bytes of the image do not tell, or tell both.
 */
export async function findMbrSectorSize(head: Buffer): Promise<number | undefined> {
  const found = new Set<number>();
  for (let entry = MBR.entry; entry < MBR.signature; entry += 16) {
    const type = head[entry + MBR.type];
    const firstLba = head.readUInt32LE(entry + MBR.firstLba);
    if (type === 0 || type === PROTECTIVE_TYPE || firstLba === 0) continue;
    for (const size of SECTOR_SIZES) if (await hasSignature(head, firstLba * size)) found.add(size);
  }
  const [only] = found;
  return found.size === 1 ? only : undefined;
}

async function hasSignature(head: Buffer, start: number): Promise<boolean> {
  if (start >= head.length) return false;
  const part = head.subarray(start);
  const signatures = await probeSignatures(
    async (offset, length) => part.subarray(offset, offset + length),
    part.length,
  );
  return signatures.length > 0;
}
