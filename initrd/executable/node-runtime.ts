import { copyFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cached } from '../build-cache.ts';

const NODE_PACKAGE = join(import.meta.dirname, '../../node_modules/node');

/** Our own Node (the npm package `node`) without what a running agent never looks at. Gives the file. */
export async function prepareNode(): Promise<string> {
  const original = join(NODE_PACKAGE, 'bin/node');
  const { version } = JSON.parse(await readFile(join(NODE_PACKAGE, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { size } = await stat(original);
  const folder = await cached('node-runtime', { version, size, recipe: 1 }, async (target) => {
    const node = join(target, 'node');
    await copyFile(original, node);
    await execa('strip', ['--strip-all', node]);
  });
  return join(folder, 'node');
}
