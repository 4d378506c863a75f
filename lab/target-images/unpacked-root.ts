import { lutimes, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
  await dateFiles([file]);
}

/** Makes files, folders and links as old as everything else in the image. */
export async function dateFiles(files: Iterable<string>): Promise<void> {
  for (const file of files) await lutimes(file, EPOCH_SECONDS, EPOCH_SECONDS);
}

/** Puts files (path → text) into the root; a path that ends in "/" is an empty folder. Every folder above them stays as old as the rest. */
export async function fillRoot(root: string, files: Record<string, string>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(root, file.endsWith('/') ? file : dirname(file)), { recursive: true });
    if (!file.endsWith('/')) await writeDated(join(root, file), text);
  }
  const folders = new Set(Object.keys(files).flatMap((file) => [file, ...above(file)]));
  await dateFiles([...folders].map((folder) => join(root, folder)));
}

function above(file: string): string[] {
  const folder = dirname(file);
  return folder === '.' ? ['.'] : [folder, ...above(folder)];
}
