import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { step } from '../../system/step.ts';
import { cached, hashOf } from '../build-cache.ts';
import { runTool } from '../build-tool.ts';
import { type DebianPackage, resolvePackages, unpackPackages } from '../debian/packages.ts';
import { type Bundle, MAIN_SCRIPT } from './bundle.ts';
import { prepareNode } from './node-runtime.ts';
import { dropInternalSymbols } from './node-trim.ts';
import { type Library, packOneFile } from './pack.ts';

/** The shared libraries Node is linked against, and the Debian packages they come from. */
const LIBRARIES: Record<string, string[]> = {
  libc6: ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0'],
  libatomic1: ['libatomic.so.1'],
  'libgcc-s1': ['libgcc_s.so.1'],
  'libstdc++6': ['libstdc++.so.6'],
};
const LINKER = { package: 'libc6', path: 'lib/x86_64-linux-gnu/ld-linux-x86-64.so.2' };
const LIBRARY_FOLDERS = ['lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu'];

/** Options of Node that hold in every executable of ours. */
const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning'];
// Node writes the path of its main script into the executable. So that it can be overwritten (equal input, equal bytes)
// its length must not depend on the machine: not below the folder that TMPDIR names.
const WORK_FOLDER = '/tmp/kindling-executable-';
const OWN_FILES = [
  'launcher.c',
  'sea-main.ts',
  'code-cache.ts',
  'pkg-sea.ts',
  'pack.ts',
  'node-trim.ts',
  '../../formats/elf.ts',
  'executable.ts',
];

/** A program of ours as one static file of this name. Built only if its code, or a part of the file, has changed. */
export async function ensureExecutable(name: string, bundle: Bundle): Promise<string> {
  const [node, packages, ownFiles] = await Promise.all([
    prepareNode(),
    resolvePackages(Object.keys(LIBRARIES)),
    Promise.all(OWN_FILES.map((name) => readFile(join(import.meta.dirname, name), 'utf8'))),
  ]);
  const inputs = { bundle: hashOf([...bundle]), node, packages, recipe: hashOf(ownFiles) };
  const folder = await cached(name, inputs, (target) =>
    step(`Executable ${name}`, (say) => buildExecutable(join(target, name), bundle, node, packages, say)),
  );
  return join(folder, name);
}

/** 1 compile ahead  2 join with Node (pkg)  3 launcher  4 libraries  5 one file */
async function buildExecutable(
  target: string,
  bundle: Bundle,
  node: string,
  packages: DebianPackage[],
  say: (progress: string) => void,
): Promise<void> {
  const work = await mkdtemp(WORK_FOLDER);
  try {
    say('compiling its code');
    const assets = await writeAssets(work, bundle, node);
    say('joining it with Node');
    const application = await joinWithNode(work, assets, node);
    say('making it one file');
    const launcher = await compileLauncher(work);
    const { linker, libraries } = await collectLibraries(work, packages);
    const file = packOneFile(launcher, application, linker, libraries);
    await writeFile(target, file);
    await chmod(target, 0o755);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The bundle as files, and the compiled form of its main script beside it. */
async function writeAssets(work: string, bundle: Bundle, node: string): Promise<Record<string, string>> {
  const assets: Record<string, string> = {};
  for (const [name, text] of bundle) {
    const isMain = name === MAIN_SCRIPT;
    const file = join(work, name.replaceAll('/', '-'));
    await writeFile(file, isMain ? `(function(require,module,exports){${text}\n})` : text, 'latin1');
    assets[name] = file;
  }
  const cache = join(work, 'main.cache');
  const compile = await toJavaScript(work, 'code-cache.ts');
  const script = assets[MAIN_SCRIPT] ?? '';
  await runTool(node, ['--hash-seed=1', compile, 'make', script, cache]);
  await runTool(node, [compile, 'adopt', script, cache]);
  return { ...assets, 'main.cache': cache };
}

async function joinWithNode(work: string, assets: Record<string, string>, node: string): Promise<Buffer> {
  const main = await toJavaScript(work, 'sea-main.ts');
  const output = join(work, 'application');
  const options = {
    main,
    nodePath: node,
    seaConfig: {
      assets,
      execArgv: NODE_OPTIONS,
      execArgvExtension: 'none',
      disableExperimentalSEAWarning: true,
      useSnapshot: false,
      useCodeCache: false,
    },
    targets: [{ nodeRange: 'node26', platform: 'linux', arch: 'x64', output }],
  };
  await runTool(process.execPath, [join(import.meta.dirname, 'pkg-sea.ts'), JSON.stringify(options)]);
  const application = await readFile(output);
  for (let at = application.indexOf(work); at >= 0; at = application.indexOf(work))
    application.fill('/', at, at + work.length);
  dropInternalSymbols(application); // not earlier: pkg rewrites the tables of symbols
  return application;
}

/** The Node inside the executable cannot read TypeScript: what it runs, at build time too, is plain JavaScript. */
async function toJavaScript(work: string, name: string): Promise<string> {
  const { build } = await import('esbuild');
  const outfile = join(work, name.replace('.ts', '.cjs'));
  const entryPoints = [join(import.meta.dirname, name)];
  await build({ entryPoints, outfile, platform: 'node', format: 'cjs', bundle: true, minify: true });
  return outfile;
}

async function compileLauncher(work: string): Promise<Buffer> {
  const output = join(work, 'launcher');
  const freestanding = ['-nostdlib', '-nostartfiles', '-ffreestanding', '-fno-stack-protector'];
  const positionIndependent = ['-static-pie', '-fPIE', '-fvisibility=hidden'];
  // Without these gcc would turn our loops into calls of memset and strlen, which do not exist here.
  const noLibraryCalls = ['-fno-tree-loop-distribute-patterns', '-fno-builtin'];
  const small = [
    '-Os',
    '-s',
    '-fno-asynchronous-unwind-tables',
    '-Wl,--build-id=none,-z,noexecstack,-z,max-page-size=4096',
  ];
  await runTool('gcc', [
    '-Wall',
    '-Wextra',
    '-Werror',
    '-std=gnu11',
    ...freestanding,
    ...positionIndependent,
    ...noLibraryCalls,
    ...small,
    '-o',
    output,
    join(import.meta.dirname, 'launcher.c'),
  ]);
  return readFile(output);
}

async function collectLibraries(
  work: string,
  packages: DebianPackage[],
): Promise<{ linker: Buffer; libraries: Library[] }> {
  const libraries: Library[] = [];
  let linker = Buffer.alloc(0);
  const folders = await unpackPackages(packages);
  for (const [index, debian] of packages.entries()) {
    const files = folders[index] ?? '';
    for (const name of LIBRARIES[debian.name] ?? [])
      libraries.push({ name, bytes: await stripped(work, files, name) });
    if (debian.name === LINKER.package) linker = await readFile(join(files, LINKER.path));
  }
  return { linker, libraries };
}

async function stripped(work: string, files: string, name: string): Promise<Buffer> {
  const output = join(work, name);
  const source = LIBRARY_FOLDERS.map((folder) => join(files, folder, name)).find(existsSync);
  if (!source) throw new KindlingError('KND_BUILD_PACKAGE', `the Debian packages do not hold ${name}`);
  await runTool('strip', ['--strip-unneeded', '-o', output, source]);
  return readFile(output);
}
