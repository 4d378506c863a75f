import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

export interface ServedFile {
  /** Below the prefix, as in the address. */
  path: string;
  bytes: number;
  modifiedAt: string;
}

/** The files that staticRoute() would send from these folders. Of two with one path the first folder's counts, as there. */
export async function listFiles(folders: readonly string[], most: number): Promise<ServedFile[]> {
  const found = new Map<string, ServedFile>();
  for (const folder of folders) {
    for (const entry of await entriesOf(folder)) {
      const file = join(entry.parentPath, entry.name);
      const path = relative(folder, file).split(sep).join('/');
      if (!entry.isFile() || found.has(path)) continue;
      if (found.size === most) return sorted(found);
      const facts = await stat(file).catch(() => undefined);
      if (facts) found.set(path, { path, bytes: facts.size, modifiedAt: facts.mtime.toISOString() });
    }
  }
  return sorted(found);
}

/** A folder that is gone has no files. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
}

function sorted(files: ReadonlyMap<string, ServedFile>): ServedFile[] {
  return [...files.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
