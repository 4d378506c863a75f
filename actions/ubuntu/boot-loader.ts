import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ActionContext } from '../contract/action.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { placeFile } from '../target-root/place-file.ts';

/** The distributions' signed GRUB reads a grub.cfg of three lines beside it, which leads to the real one. */
async function stubsOn(systemPartition: string): Promise<string[]> {
  const folders = await readdir(path.join(systemPartition, 'EFI')).catch(() => []);
  const files = folders.map((folder) => `/EFI/${folder}/grub.cfg`);
  const texts = await Promise.all(
    files.map((file) => readFile(path.join(systemPartition, file), 'utf8').catch(() => '')),
  );
  return files.filter((_, index) => texts[index]?.includes('configfile'));
}

/** Whether the loader can be led to a /boot that has moved. */
export async function hasStub(context: ActionContext, systemPartition: string): Promise<boolean> {
  const mounted = await mountFilesystem(context, systemPartition, { fsType: 'vfat', isReadOnly: true });
  const stubs = await stubsOn(mounted.target);
  await mounted.unmount();
  return stubs.length > 0;
}

/** Leads the loader to /boot on a file system of its own. */
export async function pointLoaderAt(
  context: ActionContext,
  systemPartition: string,
  bootUuid: string,
): Promise<void> {
  const mounted = await mountFilesystem(context, systemPartition, { fsType: 'vfat' });
  for (const file of await stubsOn(mounted.target)) {
    await placeFile(mounted.target, {
      path: file,
      contents: `search.fs_uuid ${bootUuid} root\nset prefix=($root)'/grub'\nconfigfile $prefix/grub.cfg\n`,
    });
  }
  await mounted.unmount();
}
