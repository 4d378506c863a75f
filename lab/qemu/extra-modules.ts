import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { dependencyOf, resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { packDropin } from '../../initrd/dropin.ts';

/** Files of kernel modules that the Micro-OS has no need for, of the same kernel: `drivers/md/bcache/bcache`. */
export async function moduleFiles(names: readonly string[]): Promise<string[]> {
  const kernel = await dependencyOf('linux-image-amd64', /^linux-image-[0-9].*-amd64$/);
  const [image] = await resolvePackages([kernel]);
  if (!image) throw new Error('resolvePackages gives what it is asked for');
  const modules = path.join(await unpackPackage(image), 'lib/modules');
  const [version = ''] = await readdir(modules);
  return names.map((name) => path.join(modules, version, 'kernel', `${name}.ko`));
}

/** The same as an archive that goes after the initramfs; in the machine they are `/lib/extra/*.ko`, for insmod. */
export async function packModules(names: readonly string[]): Promise<AsyncDisposable & { file: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kindling-modules-'));
  const extra = path.join(folder, 'tree/lib/extra');
  await mkdir(extra, { recursive: true });
  for (const file of await moduleFiles(names)) await copyFile(file, path.join(extra, path.basename(file)));
  const file = path.join(folder, 'modules.cpio');
  await writeFile(file, await packDropin(path.join(folder, 'tree')));
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
