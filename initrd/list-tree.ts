import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Everything below a folder by its path in it, sorted. Links are listed and not followed (readdir's own recursion goes through
 * them, and /dev/fd of a root leads out of it).
 */
export async function listTree(folder: string, below = ''): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    paths.push(path);
    if (entry.isDirectory()) paths.push(...(await listTree(folder, path)));
  }
  return paths.sort();
}
