import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildStamp } from '../../system/build-stamp.ts';

const FILES = ['compose.yaml', 'kindling.container'];

/** A compose file and a quadlet that start the image of this version. */
export async function writeContainerFiles({ version }: BuildStamp, output: string): Promise<void> {
  for (const name of FILES) {
    const text = await readFile(join(import.meta.dirname, name), 'utf8');
    await writeFile(join(output, name), text.replaceAll('VERSION', version));
  }
}
