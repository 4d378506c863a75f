import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '../../initrd/build-tool.ts';
import { EPOCH_SECONDS } from './debian-root.ts';

/** Unpacks the root file system below the folder and gives where it lies. */
export async function unpackRoot(target: string, rootTar: string): Promise<string> {
  const root = join(target, 'root');
  await mkdir(root);
  await runTool('tar', ['-x', '-f', rootTar, '-C', root, '--numeric-owner', '--xattrs']);
  return root;
}

/** Writes a file as old as everything else in the image, so that two builds are equal. */
export async function writeDated(file: string, content: string): Promise<void> {
  await writeFile(file, content);
  await utimes(file, EPOCH_SECONDS, EPOCH_SECONDS);
}
