import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MEMORY_BYTES } from '../actions/image-writer/decoders/bz2/layout.ts';
import { KindlingError } from '../protocol/error.ts';
import { generateFolder } from './generated-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const BZ2 = join(ROOT, 'actions/image-writer/decoders/bz2');
const COMPILER = join(ROOT, 'node_modules/assemblyscript');
const PAGE = 65_536;

/**
 * Compiles actions/image-writer/decoders/bz2/machine (AssemblyScript) to WebAssembly. It becomes a string in a module: so it
 * gets wherever our code gets, also into the one-file executable.
 */
export function generateBz2Machine(): void {
  const sources = globSync('{layout,machine/*}.ts', { cwd: BZ2 }).sort();
  const madeFrom = [
    join(COMPILER, 'package.json'),
    import.meta.filename,
    ...sources.map((file) => join(BZ2, file)),
  ];
  generateFolder(join(BZ2, 'generated'), madeFrom, (fresh) => {
    const binary = join(fresh, 'machine.wasm');
    compile(binary);
    const text = readFileSync(binary).toString('base64');
    writeFileSync(join(fresh, 'machine.ts'), `export const MACHINE = '${text}';\n`);
    rmSync(binary);
  });
}

function compile(binary: string): void {
  const pages = String(MEMORY_BYTES / PAGE);
  const features = ['simd', 'relaxed-simd', 'threads'].flatMap((feature) => ['--enable', feature]);
  // only loads and stores at fixed addresses: no runtime, and no checks that would call one
  const { status, stderr, error } = spawnSync(
    process.execPath,
    [
      ...[join(COMPILER, 'bin/asc.js'), join(BZ2, 'machine/index.ts'), '-o', binary],
      ...['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', ...features],
      ...['--importMemory', '--sharedMemory', '--initialMemory', pages, '--maximumMemory', pages],
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) {
    throw new KindlingError(
      'KND_SETUP_FAILED',
      `the bzip2 decoder could not be compiled: ${error?.message ?? stderr.trim()}`,
      { hint: 'If the message names a line of a file, correct it; otherwise run npm install again.' },
    );
  }
}
