import { chmod, chown, lstat, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { pathInRoot } from './path-in-root.ts';

export interface FileToPlace {
  /** Absolute, as the installed system sees it. */
  path: string;
  contents: string | Buffer;
  mode?: number;
  directoryMode?: number;
  uid?: number;
  gid?: number;
}

/** Puts a file into a mounted system: links are followed inside it, missing directories made, an old file replaced in one step. */
export async function placeFile(root: string, file: FileToPlace): Promise<void> {
  const { uid = 0, gid = 0, mode = 0o644, directoryMode = 0o755 } = file;
  const target = await pathInRoot(root, file.path);
  await makeDirectories(root, path.dirname(target), { uid, gid, mode: directoryMode });
  const existing = await lstat(target).catch(() => undefined);
  if (existing?.isDirectory()) {
    throw new KindlingError('KND_PATH_INVALID', `${file.path} is a directory in the target`);
  }
  await replaceFile(target, file.contents, { uid, gid, mode });
}

interface Ownership {
  uid: number;
  gid: number;
  mode: number;
}

/** Makes the missing directories between root and `directory`; ones that exist keep their owner and mode. */
async function makeDirectories(root: string, directory: string, owner: Ownership): Promise<void> {
  if (directory === root) return;
  const existing = await stat(directory).catch(() => undefined);
  if (existing?.isDirectory()) return;
  if (existing) {
    throw new KindlingError(
      'KND_PATH_INVALID',
      `${directory.slice(root.length)} exists and is not a directory`,
    );
  }
  await makeDirectories(root, path.dirname(directory), owner);
  await mkdir(directory);
  await chown(directory, owner.uid, owner.gid);
  await chmod(directory, owner.mode);
}
