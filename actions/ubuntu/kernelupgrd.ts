import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import path from 'node:path';
import type { Disk } from '../../protocol/inventory.ts';
import { type ActionContext, defineAction } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { findInstalledDisk, readTable, rereadPartitions, writeTable } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { findRootPartition } from '../disks/root-partition.ts';
import { openWithTpm } from '../encryption/open-with-tpm.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { useOtherDisks } from '../volume-groups/data-disks.ts';
import { LVM_SIZE_PARAMETER } from '../volume-groups/lvm-size.ts';
import { makeVolumeGroup } from '../volume-groups/volume-group.ts';
import { installKernel, kernelFor } from './kernel.ts';
import { planUbuntuLayout, type UbuntuLayout, UNFINISHED } from './layout.ts';

export const kernelupgrd = defineAction({
  name: 'kernelupgrd',
  aliases: ['kernel-upgrade'],
  summary: 'Gives a mutable (Ubuntu) system its partitions for swap and cluster data, and installs a kernel',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    ...LVM_SIZE_PARAMETER,
    KERNEL_VERSION: {
      type: 'text',
      pattern: /^[\w.+-]+$/,
      description: 'Kernel to install, e.g. 6.8.0-52-generic; without it EMF’s default for the release',
    },
    SKIP_KERNEL_UPGRADE: { type: 'boolean', default: false, description: 'Leave the kernel of the image' },
    ROOTFS_SIZE_GB: { type: 'integer', default: 50, min: 1, description: 'Size of the root partition' },
    DEST_DISK: { type: 'absolute-path', description: 'The disk; without it the target disk' },
  },
  notes: [
    'On a disk that is too small for the root, swap and data, and on encrypted ones, the partitions are left alone. The kernel is installed with the package manager of the installed system, so that needs its repositories (and the proxy of /etc/apt/apt.conf); systems other than Ubuntu keep theirs.',
  ],
  async run(variables, context) {
    const { disk, others } = await findInstalledDisk(context, variables);
    const root = findRootPartition(disk);
    const { layout, diskGuid } = await planFor(
      disk,
      root.number,
      others.length,
      variables.LVM_SIZE,
      variables.ROOTFS_SIZE_GB,
    );
    const text = layout.kind === 'leave' ? `partitions stay: ${layout.reason}` : `partitions: ${layout.kind}`;
    context.log('info', text);
    if (context.isDryRun) return { summary: `would change ${disk.path}; ${text}` };
    if (layout.kind === 'split') await split(disk, layout, diskGuid, context);
    if (layout.kind !== 'leave') await useOtherDisks(context, others);

    const isEncrypted = root.signatures.some(({ type }) => type === 'crypto_LUKS');
    const device = isEncrypted ? await openWithTpm(context, root.path) : root.path;
    const mounted = await mountFilesystem(context, device, { fsType: 'ext4' });
    const osRelease = await readFile(await pathInRoot(mounted.target, '/etc/os-release'), 'utf8').catch(
      () => '',
    );
    const version = variables.SKIP_KERNEL_UPGRADE
      ? undefined
      : kernelFor(osRelease, variables.KERNEL_VERSION);
    if (version !== undefined) await installKernel(context, mounted.target, disk, version);
    return {
      summary: `${text}; ${version === undefined ? 'the kernel stays' : `kernel ${version} installed`}`,
      data: { layout: layout.kind, kernel: version ?? null },
    };
  },
});

async function planFor(
  disk: Disk,
  rootNumber: number,
  otherDisks: number,
  lvmGigabytes: number,
  rootGigabytes: number,
) {
  const table = await readTable(disk);
  const isEncrypted = disk.partitions.some(({ signatures }) =>
    signatures.some(({ type }) => type === 'crypto_LUKS'),
  );
  const layout: UbuntuLayout = isEncrypted
    ? { kind: 'leave', reason: 'the disk is encrypted' }
    : table?.kind !== 'gpt'
      ? { kind: 'leave', reason: 'the disk has no GUID partition table' }
      : planUbuntuLayout({
          sizeBytes: disk.sizeBytes,
          sectorBytes: disk.logicalSectorBytes,
          partitions: table.partitions,
          rootNumber,
          rootGigabytes,
          ramBytes: totalmem(),
          otherDisks,
          lvmGigabytes,
          newGuid: randomUUID,
        });
  return { layout, diskGuid: table?.id ?? '' };
}

/** File systems first, their lines in fstab last: a second run after a kill finds "data_persistent" and must find it usable. */
async function split(
  disk: Disk,
  layout: Extract<UbuntuLayout, { kind: 'split' }>,
  diskGuid: string,
  context: ActionContext,
): Promise<void> {
  const at = ({ number }: { number: number }) => partitionPath(disk.path, number);
  const write = async (partitions: typeof layout.partitions) => {
    await using device = await BlockDevice.open(disk.path);
    await writeTable(device, { diskGuid, sectorBytes: disk.logicalSectorBytes, partitions });
  };
  // Under other names until everything is in place, so that a run after a kill starts over instead of finding it "done already".
  await write(
    layout.partitions.map((part) => (part === layout.data ? { ...part, partLabel: UNFINISHED } : part)),
  );
  await rereadPartitions(
    context,
    disk,
    layout.partitions.map(({ number }) => number),
  );
  await context.run('e2fsck', ['-fp', at(layout.root)], { okExitCodes: [0, 1] });
  await context.run('resize2fs', [at(layout.root)]);
  await context.run('mke2fs', ['-q', '-F', '-t', 'ext4', '-L', 'data_persistent', at(layout.data)]);
  await context.run('mkswap', [at(layout.swap)]);
  if (layout.lvm) await makeVolumeGroup(context, 'lvmvg', [at(layout.lvm)]);
  await fillFstab(layout, at, context);
  await write(layout.partitions);
  await context.run('blockdev', ['--rereadpt', disk.path]);
}

async function fillFstab(
  layout: Extract<UbuntuLayout, { kind: 'split' }>,
  at: (part: { number: number }) => string,
  context: ActionContext,
): Promise<void> {
  const data = await mountFilesystem(context, at(layout.data), { fsType: 'ext4' });
  for (const name of ['rancher', 'kubelet']) await mkdir(path.join(data.target, name), { recursive: true });
  await data.unmount();
  const root = await mountFilesystem(context, at(layout.root), { fsType: 'ext4' });
  for (const place of ['/data_persistent', '/var/lib/rancher', '/var/lib/kubelet']) {
    await mkdir(await pathInRoot(root.target, place), { recursive: true });
  }
  const fstab = await pathInRoot(root.target, '/etc/fstab');
  const text = await readFile(fstab, 'utf8').catch(() => '');
  const lines = [
    `PARTUUID=${layout.data.partUuid} /data_persistent ext4 defaults 0 2`,
    '/data_persistent/rancher /var/lib/rancher none bind 0 0',
    '/data_persistent/kubelet /var/lib/kubelet none bind 0 0',
    `PARTUUID=${layout.swap.partUuid} none swap defaults 0 0`,
  ];
  if (!text.includes('/data_persistent'))
    await appendFile(fstab, `${text.endsWith('\n') || text === '' ? '' : '\n'}${lines.join('\n')}\n`);
  await root.unmount();
}
