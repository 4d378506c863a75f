import { lstat, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type CpioEntry, encodeCpio } from '../formats/cpio.ts';
import { KindlingError } from '../protocol/error.ts';
import { listTree } from './list-tree.ts';

/**
 * A folder as an archive that a loader hands to the kernel after the initramfs: its files appear in the Micro-OS at the
 * same paths, in place of those that were there. For firmware (lib/firmware/…) or files of a site.
 */
export async function packDropin(folder: string): Promise<Buffer> {
  const names = await listTree(folder).catch((cause) => {
    throw new KindlingError('KND_USAGE', `the folder ${folder} cannot be read`, { cause });
  });
  if (names.length === 0) throw new KindlingError('KND_USAGE', `the folder ${folder} is empty`);
  return encodeCpio(await Promise.all(names.map((path) => readEntry(folder, path))));
}

async function readEntry(folder: string, path: string): Promise<CpioEntry> {
  const source = join(folder, path);
  const info = await lstat(source);
  const mode = info.mode & 0o7777;
  if (info.isDirectory()) return { path, mode, type: 'directory' };
  if (info.isSymbolicLink()) return { path, mode: 0o777, type: 'symlink', target: await readlink(source) };
  if (info.isFile()) return { path, mode, type: 'file', contents: await readFile(source) };
  throw new KindlingError('KND_USAGE', `${source} is neither a file nor a folder nor a link`);
}
