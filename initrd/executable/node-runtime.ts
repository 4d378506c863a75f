import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { cached, hashOfFile } from '../build-cache.ts';
import { runTool } from '../build-tool.ts';
import { findIcuData, trimIcuData } from './icu-data.ts';
import { dropTypeStripper, dropUnwindTables } from './node-trim.ts';

const NODE_PACKAGE = join(import.meta.dirname, '../../node_modules/node');
const OWN_FILES = ['node-runtime.ts', 'node-trim.ts', 'icu-data.ts', '../../formats/elf.ts'];

/** Our own Node (the npm package `node`) without what a running agent never looks at. Gives the file. */
export async function prepareNode(): Promise<string> {
  const original = join(NODE_PACKAGE, 'bin/node');
  const { version } = JSON.parse(await readFile(join(NODE_PACKAGE, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { size } = await stat(original);
  const recipe = await Promise.all(OWN_FILES.map((name) => hashOfFile(join(import.meta.dirname, name))));
  const folder = await cached('node-runtime', { version, size, recipe }, async (target) => {
    const node = join(target, 'node');
    await runTool('strip', ['--strip-all', '-o', node, original]);
    const program = await readFile(node);
    trimIcuData(program, { offset: findIcuData(program), size: await icuDataSize(original) });
    dropTypeStripper(program, await typeStripperSource(original));
    dropUnwindTables(program);
    await writeFile(node, program);
  });
  return join(folder, 'node');
}

async function icuDataSize(unstrippedNode: string): Promise<number> {
  const symbols = await runTool('nm', ['--print-size', '--defined-only', unstrippedNode]);
  const size = /^[0-9a-f]+ ([0-9a-f]+) R icudt\d+_dat$/m.exec(symbols)?.[1];
  if (!size) throw new KindlingError('KND_BUILD_FAILED', 'this Node does not say how large its ICU data is');
  return Number.parseInt(size, 16);
}

/** Node itself tells the text of its built-in modules, which lies in the program as it is. */
async function typeStripperSource(node: string): Promise<string> {
  const script = "process.stdout.write(process.binding('natives')['internal/deps/amaro/dist/index'])";
  return runTool(node, ['--no-deprecation', '-e', script]);
}
