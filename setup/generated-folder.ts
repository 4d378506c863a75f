import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Has `make` fill a folder anew, unless it was made from the very same files. */
export function generateFolder(
  folder: string,
  madeFrom: readonly string[],
  make: (fresh: string) => void,
): void {
  const fingerprint = fingerprintOf(madeFrom, folder);
  if (readStamp(folder) === fingerprint) return;
  // Built aside and swapped in, so that a second command started meanwhile never sees half of it.
  const fresh = mkdtempSync(join(dirname(folder), 'generated-'));
  try {
    make(fresh);
    writeFileSync(join(fresh, '.stamp'), fingerprint);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Paths count from the folder: a copy of the checkout has nothing to make. */
function fingerprintOf(files: readonly string[], folder: string): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${relative(folder, file)}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

function readStamp(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, '.stamp'), 'utf8');
  } catch {
    return undefined;
  }
}
