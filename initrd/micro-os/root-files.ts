import { lstat, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { CpioEntry } from '../../formats/cpio.ts';
import { isElf, neededLibraries, readElf, SEGMENT, stringAt } from '../../formats/elf.ts';
import { KindlingError } from '../../protocol/error.ts';
import { runTool } from '../build-tool.ts';
import { type DebianPackage, unpackPackage, unpackPackages } from '../debian/packages.ts';
import { LIBRARY_PACKAGES, MODULES, type Profile, TOOLS } from './contents.ts';
import { moduleIndexes, selectModules } from './kernel-modules.ts';

/** An entry of the Micro-OS's root, and where it comes from. */
export type RootFile = CpioEntry & { package: string };

const OURS = 'kindling';
const LIBRARY_TARGET = 'lib/x86_64-linux-gnu';
const LIBRARY_FOLDERS = ['lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu', 'lib64'];
const EMPTY_DIRECTORIES = ['dev', 'mnt', 'proc', 'root', 'run', 'sys', 'tmp', 'var', 'etc'];
const INIT_FOLDER = join(import.meta.dirname, '../init');

/** `minimal` has its own lists; `full` adds its lists to them. */
export function listsOf<T>(lists: Record<Profile, readonly T[]>, profile: Profile): T[] {
  return profile === 'minimal' ? [...lists.minimal] : [...lists.minimal, ...lists.full];
}

export function packageNames(profile: Profile): string[] {
  return [...listsOf(TOOLS, profile).map((tool) => tool.package), ...listsOf(LIBRARY_PACKAGES, profile)];
}

/** Everything below / of the Micro-OS. Directories are real ones, no links: a drop-in archive may bring lib/firmware. */
export async function rootFiles(
  profile: Profile,
  packages: DebianPackage[],
  kernel: DebianPackage,
  agent: string,
): Promise<RootFile[]> {
  const folders = await unpackPackages(packages);
  const unpacked = new Map(
    await Promise.all(
      packages.map(async ({ name }, index) => [name, await realpath(folders[index] ?? '')] as const),
    ),
  );
  const files = await toolFiles(profile, unpacked);
  files.push(...(await libraryFiles(files, unpacked)));
  files.push(...(await appletLinks(files, join(unpacked.get('busybox-static') ?? '', 'bin/busybox'))));
  files.push(...(await kernelModuleFiles(profile, kernel)));
  files.push(...(await ownFiles(agent)));
  return [...directoriesOf(files), ...files];
}

async function toolFiles(profile: Profile, unpacked: Map<string, string>): Promise<RootFile[]> {
  const files: RootFile[] = [];
  for (const { package: name, files: paths } of listsOf(TOOLS, profile))
    for (const path of paths) files.push(await readEntry(name, unpacked.get(name) ?? '', path));
  return files;
}

async function readEntry(packageName: string, folder: string, path: string): Promise<RootFile> {
  const source = join(folder, path);
  const info = await lstat(source).catch((cause) => {
    throw new KindlingError('KND_BUILD_PACKAGE', `the Debian package ${packageName} has no file ${path}`, {
      cause,
    });
  });
  if (info.isSymbolicLink())
    return { package: packageName, path, mode: 0o777, type: 'symlink', target: await readlink(source) };
  return {
    package: packageName,
    path,
    mode: info.mode & 0o755,
    type: 'file',
    contents: await readFile(source),
  };
}

/** The shared libraries the files ask for, and those that these ask for, each under the name it is asked for by. */
async function libraryFiles(files: readonly RootFile[], unpacked: Map<string, string>): Promise<RootFile[]> {
  const found = new Map<string, RootFile>();
  const listed = new Set(files.map(({ path }) => path)); // one that is loaded by name is listed like a tool
  const pending = files
    .filter((file) => file.type === 'file')
    .map(({ path, contents }) => ({ path, contents }));
  for (let file = pending.pop(); file; file = pending.pop()) {
    if (!isElf(file.contents)) continue;
    const elf = readElf(file.contents, file.path);
    const interpreter = elf.segments.find(({ type }) => type === SEGMENT.INTERPRETER);
    const linker = interpreter ? [basename(stringAt(elf.bytes, interpreter.offset))] : [];
    for (const name of [...neededLibraries(elf), ...linker]) {
      if (found.has(name) || listed.has(`${LIBRARY_TARGET}/${name}`)) continue;
      const library = await findLibrary(name, unpacked, file.path);
      found.set(name, library);
      if (library.type === 'file') pending.push({ path: library.path, contents: library.contents });
    }
  }
  return [...found.values()];
}

async function findLibrary(name: string, unpacked: Map<string, string>, neededBy: string): Promise<RootFile> {
  for (const [packageName, folder] of unpacked)
    for (const libraryFolder of LIBRARY_FOLDERS) {
      const file = await realpath(join(folder, libraryFolder, name)).catch(() => undefined);
      if (!file?.startsWith(folder)) continue;
      const target = name.startsWith('ld-linux') ? 'lib64' : LIBRARY_TARGET;
      return {
        package: packageName,
        path: `${target}/${name}`,
        mode: 0o755,
        type: 'file',
        contents: await readFile(file),
      };
    }
  throw new KindlingError(
    'KND_BUILD_PACKAGE',
    `${neededBy} needs the library ${name}, which no listed package holds`,
    {
      hint: 'Add the Debian package of that library to LIBRARY_PACKAGES in initrd/micro-os/contents.ts.',
    },
  );
}

/** A link in /bin for each of busybox's tools, unless the real one is there. */
async function appletLinks(files: readonly RootFile[], program: string): Promise<RootFile[]> {
  const busybox = files.find(({ path }) => path === 'bin/busybox');
  if (busybox?.type !== 'file')
    throw new KindlingError('KND_BUILD_FAILED', 'the list of tools has no busybox');
  const real = new Set(files.map(({ path }) => basename(path)));
  return (await runTool(program, ['--list']))
    .trim()
    .split('\n')
    .filter((applet) => !real.has(applet))
    .map((applet) => ({
      package: busybox.package,
      path: `bin/${applet}`,
      mode: 0o777,
      type: 'symlink',
      target: 'busybox',
    }));
}

async function kernelModuleFiles(profile: Profile, kernel: DebianPackage): Promise<RootFile[]> {
  const folder = await unpackPackage(kernel);
  const [version = ''] = await readdir(join(folder, 'lib/modules'));
  const names = listsOf(MODULES, profile).flatMap(({ modules }) => modules);
  const modules = await selectModules(join(folder, 'lib/modules', version), names);
  const { dependencies, aliases } = moduleIndexes(modules);
  const builtIn = await readFile(join(folder, 'lib/modules', version, 'modules.builtin'));
  const at = (path: string, contents: Buffer): RootFile => ({
    package: kernel.name,
    path: `lib/modules/${version}/${path}`,
    mode: 0o644,
    type: 'file',
    contents,
  });
  return [
    ...modules.map(({ path, contents }) => at(path, contents)),
    at('modules.dep', Buffer.from(dependencies)),
    at('modules.alias', Buffer.from(aliases)),
    at('modules.builtin', builtIn),
  ];
}

/** The agent and what initrd/init holds: `init` becomes /init, the rest goes where its path says. */
async function ownFiles(agent: string): Promise<RootFile[]> {
  const files: RootFile[] = [
    {
      package: OURS,
      path: 'bin/kindling-agent',
      mode: 0o755,
      type: 'file',
      contents: await readFile(agent),
    },
    { package: OURS, path: 'dev/console', mode: 0o600, type: 'character-device', major: 5, minor: 1 },
  ];
  for (const path of await initFiles()) files.push(await readEntry(OURS, INIT_FOLDER, path));
  return files;
}

/** The paths of our own scripts and settings, relative to initrd/init and to the root of the Micro-OS alike. */
export async function initFiles(): Promise<string[]> {
  const found = await readdir(INIT_FOLDER, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => !entry.isDirectory() && !entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name).slice(INIT_FOLDER.length + 1))
    .sort();
}

function directoriesOf(files: readonly RootFile[]): RootFile[] {
  const paths = new Set(EMPTY_DIRECTORIES);
  for (const { path } of files)
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) paths.add(parent);
  return [...paths].map((path) => ({
    package: OURS,
    path,
    mode: path === 'tmp' ? 0o1777 : path === 'root' ? 0o700 : 0o755,
    type: 'directory',
  }));
}
