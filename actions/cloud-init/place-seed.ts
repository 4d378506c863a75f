import { lstat, rm } from 'node:fs/promises';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { type FileToPlace, placeFile } from '../target-root/place-file.ts';
import { SEED_FOLDER, SEED_KEY } from './seed-files.ts';

/** All that a seed may consist of; the first one is gone before any other changes. */
const NAMES = [SEED_KEY, 'user-data', 'network-config', 'vendor-data'];

/**
 * Puts a seed into a mounted system. At every moment cloud-init finds the old seed, the new one or none: never the new user data with
 * the old network, nor what only the old one had.
 */
export async function placeSeed(root: string, files: readonly FileToPlace[]): Promise<void> {
  for (const name of NAMES) {
    const file = await pathInRoot(root, `${SEED_FOLDER}/${name}`);
    const existing = await lstat(file).catch(() => undefined);
    if (existing && !existing.isDirectory()) await rm(file);
  }
  for (const file of files) await placeFile(root, file);
}
