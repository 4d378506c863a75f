import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { mountOn } from '../mounts/mount.ts';
import { enterRoot } from '../target-root/enter-root.ts';
import { placeFile } from '../target-root/place-file.ts';
import { runInRoot } from '../target-root/run-in-root.ts';

/** What the reference installs when the workflow names no version. */
const DEFAULT_VERSIONS: Record<string, string> = {
  '24.04': '6.11.0-17-generic',
  '22.04': '6.8.0-52-generic',
};

/** The kernel to install; undefined where nothing is to be done. Only Ubuntu has these packages. */
export function kernelFor(osRelease: string, wanted: string | undefined): string | undefined {
  const field = (name: string) => new RegExp(`^${name}="?([^"\\n]*)"?$`, 'm').exec(osRelease)?.[1];
  if (field('ID') !== 'ubuntu') return undefined;
  return wanted ?? DEFAULT_VERSIONS[field('VERSION_ID') ?? ''] ?? DEFAULT_VERSIONS['22.04'];
}

/** Partitions that the installed system mounts below /boot, by its own fstab; a kernel package writes there. */
export function bootMounts(
  fstab: string,
  disk: Pick<Disk, 'partitions'>,
): { device: string; at: string; fsType: string }[] {
  return fstab
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([source, at]) => source && !source.startsWith('#') && (at === '/boot' || at?.startsWith('/boot/')),
    )
    .flatMap(([source = '', at = '', fsType = 'auto']) => {
      const [key, value] = source.split('=');
      const partition = disk.partitions.find(
        ({ path: device, partUuid, signatures }) =>
          device === source ||
          (key === 'PARTUUID' && partUuid === value) ||
          signatures.some(
            ({ label, uuid }) => (key === 'LABEL' && label === value) || (key === 'UUID' && uuid === value),
          ),
      );
      return partition ? [{ device: partition.path, at, fsType }] : [];
    })
    .sort((a, b) => a.at.length - b.at.length);
}

/** Installs a kernel in the mounted system with its own package manager, and makes it the one that boots. */
export async function installKernel(
  context: ActionContext,
  root: string,
  disk: Disk,
  version: string,
): Promise<void> {
  const fstab = await readFile(path.join(root, 'etc/fstab'), 'utf8').catch(() => '');
  for (const { device, at, fsType } of bootMounts(fstab, disk)) {
    await mountOn(context, ['-t', fsType, device], path.join(root, at));
  }
  await placeFile(root, {
    path: '/etc/default/grub.d/90-kindling.cfg',
    contents: `GRUB_DEFAULT="Advanced options for Ubuntu>Ubuntu, with Linux ${version}"\nGRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX intel_iommu=on iommu=pt pci=realloc console=tty0 console=ttyS1,115200n8"\n`,
  });
  await enterRoot(context, root, { lendResolvConf: true });
  for (const command of [
    'apt-get update',
    `apt-get install -y --no-install-recommends linux-image-${version} linux-headers-${version} linux-modules-extra-${version}`,
    'update-grub',
  ]) {
    context.emit({
      type: 'progress',
      stage: `installing kernel ${version}: ${command.split(' ')[1] ?? command}`,
    });
    await runInRoot(context, root, command);
  }
}
