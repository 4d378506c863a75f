import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, hashOfFile } from '../../initrd/build-cache.ts';
import { runTool } from '../../initrd/build-tool.ts';
import { downloadPackages, resolvePackages } from '../../initrd/debian/packages.ts';

/** A repository of these packages, as apt takes it from `deb [trusted=yes] http://… ./`: a folder with their files and the list of them. Cached. */
export async function ensurePackageRepository(names: readonly string[]): Promise<string> {
  const packages = await resolvePackages(names);
  return cached('package-repository', { packages }, async (target) => {
    await downloadPackages(packages, target);
    const files = (await readdir(target)).toSorted();
    const entries = await Promise.all(files.map((file) => entryOf(target, file)));
    await writeFile(join(target, 'Packages'), entries.join('\n'));
  });
}

async function entryOf(folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  const control = (await runTool('dpkg-deb', ['--field', path])).trim();
  // apt asks for what it is told, but names its own copy by it: a colon of the version is written %3a.
  const place = `Filename: ./${file}\nSize: ${(await stat(path)).size}\nSHA256: ${await hashOfFile(path)}`;
  return `${control}\n${place}\n`;
}
