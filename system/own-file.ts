import { readdirSync, readFileSync } from 'node:fs';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/**
 * One of our own files (a shell script, a template, a page) by its path in the repository: from the sources as well as from
 * inside a one-file executable, into which the build puts such files (initrd/executable/bundle.ts).
 */
export function readOwnFile(path: string): Buffer {
  if (isSea()) return Buffer.from(getRawAsset(path));
  return readFileSync(inSources(path));
}

/** The same as text. */
export function readOwnText(path: string): string {
  return readOwnFile(path).toString('utf8');
}

/** The names of our own files in this folder of the repository, sorted. A folder that is missing has none. */
export function listOwnFiles(folder: string): string[] {
  if (!isSea()) return existingNames(inSources(folder));
  return getAssetKeys()
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => path.slice(folder.length + 1))
    .sort();
}

function inSources(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

function existingNames(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
