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
const VECTORS = ['--enable', 'simd', '--enable', 'relaxed-simd'];

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
    const compiled = (features: readonly string[]) => {
      compile(binary, features);
      return readFileSync(binary).toString('base64');
    };
    const lines = [
      `export const MACHINE = '${compiled(VECTORS)}';`,
      `export const PLAIN_MACHINE = '${compiled(['--disable', 'simd'])}';`,
    ];
    writeFileSync(join(fresh, 'machine.ts'), `${lines.join('\n')}\n`);
    rmSync(binary);
  });
}

function compile(binary: string, features: readonly string[]): void {
  const pages = String(MEMORY_BYTES / PAGE);
  // only loads and stores at fixed addresses: no runtime, and no checks that would call one
  const { status, stderr, error } = spawnSync(
    process.execPath,
    [
      ...[join(COMPILER, 'bin/asc.js'), join(BZ2, 'machine/index.ts'), '-o', binary],
      ...['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--enable', 'threads', ...features],
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
