import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readSections } from '../../formats/elf.ts';
import { KindlingError } from '../../protocol/error.ts';

export interface KernelModule {
  name: string;
  /** Below lib/modules/<version>/, as in modules.dep. */
  path: string;
  contents: Buffer;
  dependsOn: string[];
  aliases: string[];
}

/** The named modules of an unpacked kernel package and all they depend on, sorted by path. */
export async function selectModules(
  modulesFolder: string,
  names: readonly string[],
): Promise<KernelModule[]> {
  const paths = await modulePaths(modulesFolder);
  const builtIn = new Set(
    (await readFile(join(modulesFolder, 'modules.builtin'), 'utf8')).split('\n').map(moduleName),
  );
  const selected = new Map<string, KernelModule>();
  const visit = async (name: string, wantedBy: string) => {
    if (selected.has(name) || builtIn.has(name)) return;
    const path = paths.get(name);
    if (!path)
      throw new KindlingError('KND_BUILD_FAILED', `this kernel has no module ${name}, wanted by ${wantedBy}`);
    const module = readModule(name, path, await readFile(join(modulesFolder, path)));
    selected.set(name, module);
    for (const dependency of module.dependsOn) await visit(dependency, name);
  };
  for (const name of names) await visit(name, 'the list of modules');
  return [...selected.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** modules.dep and modules.alias as modprobe reads them (man 5 modules.dep): every dependency, nearest first. */
export function moduleIndexes(modules: readonly KernelModule[]): { dependencies: string; aliases: string } {
  const byName = new Map(modules.map((module) => [module.name, module]));
  const pathsBehind = (module: KernelModule, seen = new Set<string>()): Set<string> => {
    for (const name of module.dependsOn) {
      const dependency = byName.get(name);
      if (!dependency) continue; // built in
      seen.delete(dependency.path); // a module needed twice is loaded before both that need it
      seen.add(dependency.path);
      pathsBehind(dependency, seen);
    }
    return seen;
  };
  return {
    dependencies: modules
      .map((module) => `${module.path}:${[...pathsBehind(module)].map((path) => ` ${path}`).join('')}\n`)
      .join(''),
    aliases: modules
      .flatMap(({ name, aliases }) => aliases.map((alias) => `alias ${alias} ${name}\n`))
      .join(''),
  };
}

/** `.modinfo` of a module is a row of "key=value" strings (ELF-64 section headers: name, type, flags, address, offset, size…). */
function readModule(name: string, path: string, contents: Buffer): KernelModule {
  const info = modinfo(contents);
  const all = (key: string) =>
    info.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));
  const dependsOn = all('depends')
    .flatMap((list) => list.split(','))
    .filter((one) => one !== '')
    .map(moduleName);
  return { name, path, contents, dependsOn, aliases: all('alias') };
}

function modinfo(contents: Buffer): string[] {
  const section = readSections(contents).find(({ name }) => name === '.modinfo');
  if (!section) return [];
  return contents.toString('utf8', section.offset, section.offset + section.size).split('\0');
}

async function modulePaths(modulesFolder: string): Promise<Map<string, string>> {
  const files = await readdir(modulesFolder, { recursive: true });
  return new Map(files.filter((path) => path.endsWith('.ko')).map((path) => [moduleName(path), path]));
}

/** Files say virtio-rng.ko, the kernel says virtio_rng: one spelling. */
function moduleName(path: string): string {
  return basename(path.trim(), '.ko').replaceAll('-', '_');
}
