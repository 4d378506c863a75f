import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MEMORY_BYTES } from '../actions/image-writer/decoders/bz2/layout.ts';
import { INPUT } from '../actions/image-writer/decoders/xz/layout.ts';
import { KindlingError } from '../protocol/error.ts';
import { generateFolder } from './generated-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const DECODERS = join(ROOT, 'actions/image-writer/decoders');
const COMPILER = join(ROOT, 'node_modules/assemblyscript');
const PAGE = 65_536;

/** A decoder's hot loops; they may be compiled in several ways. */
interface Machine {
  folder: string;
  /** What memory it can be started with, in pages. */
  pages: { least: number; most: number };
  /** Flags of the compiler by the name of the constant. */
  ways: Readonly<Record<string, readonly string[]>>;
}

const MACHINES: readonly Machine[] = [
  {
    folder: 'bz2',
    pages: { least: MEMORY_BYTES / PAGE, most: MEMORY_BYTES / PAGE },
    ways: {
      MACHINE: ['--enable', 'simd', '--enable', 'relaxed-simd'],
      PLAIN_MACHINE: ['--disable', 'simd'],
    },
  },
  {
    folder: 'xz',
    pages: { least: INPUT / PAGE, most: 65_536 },
    ways: { MACHINE: ['--disable', 'simd'] },
  },
];

/**
 * Compiles the machine folders below actions/image-writer/decoders (AssemblyScript) to WebAssembly. Each becomes a string in a module: so it
 * gets wherever our code gets, also into the one-file executable.
 */
export function generateMachines(): void {
  for (const machine of MACHINES) generateMachine(machine);
}

function generateMachine(machine: Machine): void {
  const folder = join(DECODERS, machine.folder);
  const sources = globSync('{layout,machine/*}.ts', { cwd: folder }).sort();
  const madeFrom = [
    join(COMPILER, 'package.json'),
    import.meta.filename,
    ...sources.map((file) => join(folder, file)),
  ];
  generateFolder(join(folder, 'generated'), madeFrom, (fresh) => {
    const binary = join(fresh, 'machine.wasm');
    const lines = Object.entries(machine.ways).map(([name, flags]) => {
      compile(machine, binary, flags);
      return `export const ${name} = '${readFileSync(binary).toString('base64')}';`;
    });
    writeFileSync(join(fresh, 'machine.ts'), `${lines.join('\n')}\n`);
    rmSync(binary);
  });
}

function compile({ folder, pages }: Machine, binary: string, flags: readonly string[]): void {
  const { least, most } = pages;
  // only loads and stores at addresses: no runtime, and no checks that would call one
  const { status, stderr, error } = spawnSync(
    process.execPath,
    [
      ...[join(COMPILER, 'bin/asc.js'), join(DECODERS, folder, 'machine/index.ts'), '-o', binary],
      ...['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--enable', 'threads', ...flags],
      ...['--importMemory', '--sharedMemory', '--initialMemory', `${least}`, '--maximumMemory', `${most}`],
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) {
    throw new KindlingError(
      'KND_SETUP_FAILED',
      `the ${folder} decoder could not be compiled: ${error?.message ?? stderr.trim()}`,
      { hint: 'If the message names a line of a file, correct it; otherwise run npm ci again.' },
    );
  }
}
