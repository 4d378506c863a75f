import { open, readdir } from 'node:fs/promises';
import path from 'node:path';

const PATTERN = /boot_uuid=([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/i;
const PIECE = 4 * 2 ** 20;

/** The UUID that the signed kernel image on the system partition expects its root to have: a part of its command line. */
export async function findBootUuid(systemPartition: string): Promise<string | undefined> {
  const folder = path.join(systemPartition, 'EFI/Linux');
  for (const name of (await readdir(folder).catch(() => [])).toSorted()) {
    const found = await searchFile(path.join(folder, name));
    if (found) return found.toLowerCase();
  }
  return undefined;
}

/** Kernel images are larger than what a small machine has to spare. */
async function searchFile(file: string): Promise<string | undefined> {
  await using handle = await open(file);
  let tail = '';
  for await (const chunk of handle.createReadStream({ highWaterMark: PIECE, autoClose: false })) {
    const text = tail + (chunk as Buffer).toString('latin1');
    const found = PATTERN.exec(text)?.[1];
    if (found) return found;
    tail = text.slice(-64);
  }
  return undefined;
}
