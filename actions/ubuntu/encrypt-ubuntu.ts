import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import path from 'node:path';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { fileExists } from '../../system/file-exists.ts';
import type { ActionContext, ActionResult } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { readTable, rereadPartitions, writeTable } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { requireEscrow } from '../encryption/escrow.ts';
import { closeLeftOpen, openNewVolume } from '../encryption/luks.ts';
import { clearCopies, encryptRoot, isDone } from '../encryption/move-encrypted.ts';
import { type EncryptVariables, obtainKeys } from '../encryption/obtain-keys.ts';
import { requireTpm } from '../encryption/tpm.ts';
import { mountFilesystem, mountOn } from '../mounts/mount.ts';
import { writeJournal } from '../moving/move-journal.ts';
import { enterRoot } from '../target-root/enter-root.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { placeFile } from '../target-root/place-file.ts';
import { runInRoot } from '../target-root/run-in-root.ts';
import { useOtherDisks } from '../volume-groups/data-disks.ts';
import { makeVolumeGroup } from '../volume-groups/volume-group.ts';
import { hasStub, pointLoaderAt } from './boot-loader.ts';
import { DATA_FOLDERS, encryptedFstab } from './encrypted-fstab.ts';
import { begunLayout, type EncryptedUbuntuLayout, planEncryptedUbuntu } from './encrypted-layout.ts';
import { installEncryptionPackages } from './encryption-packages.ts';
import { bootMounts } from './kernel.ts';
import { ARRANGE_BOOT, type EncryptedVolume, sealFiles, unlockFiles } from './unlock-files.ts';

const ROOT = 'rootfs_crypt';
const NAMES = { swap: 'swap_crypt', persistent: 'persistent_crypt', lvm: 'lvmvg_crypt' } as const;

interface Planned {
  layout: EncryptedUbuntuLayout;
  diskGuid: string;
  /** An earlier run has changed the table already. */
  isBegun: boolean;
}

/** LUKS2 on everything but the EFI system partition and /boot, the key in the TPM, and the installed system told how to open it. */
export async function encryptUbuntu(
  { disk, others }: { disk: Disk; others: readonly Disk[] },
  variables: EncryptVariables & { MINIMUM_ROOTFS_SIZE: number; KINDLING_SEAL: 'boot' | 'pcrs' },
  context: ActionContext,
): Promise<ActionResult> {
  // 1. What it needs, before anything is touched.
  requireEscrow(variables);
  await requireTpm();
  for (const name of [...Object.values(NAMES), ROOT, ...others.map(nameOnDisk)]) {
    await closeLeftOpen(context, name);
  }
  const planned = await plan(disk, others.length, variables, context);
  const { layout, isBegun } = planned;
  const summary = layout.partitions.map(
    ({ number, partLabel, sizeBytes }) =>
      `${number} ${partLabel ?? ''} ${Math.round(sizeBytes / 2 ** 20)} MiB`,
  );
  context.log('info', `layout of ${disk.path}: ${summary.join(', ')}`);
  if (context.isDryRun) return { summary: `would encrypt ${disk.path}`, data: { layout: summary } };
  const isForSeal = variables.KINDLING_SEAL === 'boot';
  if (!isBegun) await prepareSystem(disk, layout, { isForSeal }, context);

  // 2. The keys. The recovery key is in safe hands before the first byte is encrypted.
  const { keys, keyFiles } = await obtainKeys(
    disk,
    isBegun ? layout.reserved : undefined,
    variables,
    context,
  );

  // 3. The partitions; the journal comes before the table that makes a second run look for it.
  if (!isBegun) await repartition(disk, planned, keys.keyId);
  await rereadPartitions(
    context,
    disk,
    layout.partitions.map(({ number }) => number),
  );
  const at = ({ number }: { number: number }) => partitionPath(disk.path, number);

  const copies = at(layout.reserved);
  if (await isDone(copies)) {
    return {
      summary: `${disk.path} is encrypted already (recovery key ${keys.keyId})`,
      data: { keyId: keys.keyId },
    };
  }

  // 4. The root, through "reserved"; then encrypted volumes where nothing is yet.
  const root = await encryptRoot(
    context,
    copies,
    { device: at(layout.root), name: ROOT },
    keyFiles,
    undefined,
  );
  await context.run('e2fsck', ['-fp', root], { okExitCodes: [0, 1] });
  await context.run('resize2fs', [root]);
  const volumes: EncryptedVolume[] = [{ name: ROOT, luksUuid: await luksUuid(context, at(layout.root)) }];
  const open = async (device: string, name: string) => {
    const mapped = await openNewVolume(context, device, name, keyFiles);
    volumes.push({ name, luksUuid: await luksUuid(context, device) });
    return mapped;
  };
  await context.run('mkswap', ['-L', 'swap', await open(at(layout.swap), NAMES.swap)]);
  const data = await open(at(layout.persistent), NAMES.persistent);
  if (layout.lvm) await makeVolumeGroup(context, 'lvmvg', [await open(at(layout.lvm), NAMES.lvm)]);
  await useOtherDisks(context, others, (device, name) => open(device, nameOnDisk({ name })));

  // 5. The system: its data partition, /boot, what opens the volumes, and an initramfs and boot menu that know of it.
  await context.run('mke2fs', ['-q', '-F', '-t', 'ext4', '-L', 'data_persistent', data]);
  const diskKey = isForSeal ? keys.diskKey : undefined;
  await configureSystem(disk, layout, { root, data, volumes, pcrs: variables.FDE_PCRS, diskKey }, context);

  // 6. No readable copy is left behind.
  await clearCopies(context, copies);
  return {
    summary: `${disk.path} is encrypted (recovery key ${keys.keyId})`,
    data: { keyId: keys.keyId, layout: summary },
  };
}

const nameOnDisk = ({ name }: { name: string }) => `${name}_crypt`;

async function luksUuid({ run }: Pick<ActionContext, 'run'>, device: string): Promise<string> {
  return (await run('cryptsetup', ['luksUUID', device])).stdout.trim();
}

/** What the disk is to become, whether it is still as the image left it or was changed by an earlier run. */
async function plan(
  disk: Disk,
  otherDisks: number,
  variables: { LVM_SIZE: number; MINIMUM_ROOTFS_SIZE: number },
  context: ActionContext,
): Promise<Planned> {
  const table = await readTable(disk);
  if (table?.kind !== 'gpt' || !table.id) {
    throw new KindlingError('KND_ENCRYPTION_UNSUPPORTED', `${disk.path} has no GUID partition table`);
  }
  const begun = begunLayout(table.partitions);
  if (begun) return { layout: begun, diskGuid: table.id, isBegun: true };
  const mounted = await mountFilesystem(context, partitionPath(disk.path, 1), {
    fsType: 'ext4',
    isReadOnly: true,
    isUnrecovered: true, // a dry run changes nothing
  });
  const fstab = await readFile(await pathInRoot(mounted.target, '/etc/fstab'), 'utf8').catch(() => '');
  await mounted.unmount();
  const layout = planEncryptedUbuntu({
    sizeBytes: disk.sizeBytes,
    sectorBytes: disk.logicalSectorBytes,
    partitions: table.partitions,
    hasBoot: bootMounts(fstab, disk).some((mount) => mount.at === '/boot'),
    ramBytes: totalmem(),
    otherDisks,
    lvmGigabytes: variables.LVM_SIZE,
    minimumRootGigabytes: variables.MINIMUM_ROOTFS_SIZE,
    newGuid: randomUUID,
  });
  return { layout, diskGuid: table.id, isBegun: false };
}

/** Everything that could fail for want of something in the image fails here, with the disk as the image left it. */
async function prepareSystem(
  disk: Disk,
  layout: EncryptedUbuntuLayout,
  options: { isForSeal: boolean },
  context: ActionContext,
): Promise<void> {
  if (layout.boot && !(await fileExists('/sys/firmware/efi'))) {
    throw new KindlingError(
      'KND_ENCRYPTION_UNSUPPORTED',
      `${disk.path}: this machine starts by BIOS, whose GRUB cannot be led to a /boot of its own`,
    );
  }
  const esp = layout.partitions.find(({ type }) => type === PARTITION_TYPES.esp);
  if (!esp || (layout.boot && !(await hasStub(context, partitionPath(disk.path, esp.number))))) {
    throw new KindlingError(
      'KND_ENCRYPTION_UNSUPPORTED',
      `${disk.path}: the GRUB of the image cannot be led to a /boot of its own (no EFI/…/grub.cfg on an EFI system partition)`,
    );
  }
  const mounted = await mountFilesystem(context, partitionPath(disk.path, layout.root.number), {
    fsType: 'ext4',
  });
  await installEncryptionPackages(context, mounted.target, options);
  await mounted.unmount();
}

async function repartition(disk: Disk, { layout, diskGuid }: Planned, keyId: string): Promise<void> {
  await using device = await BlockDevice.open(disk.path);
  await writeJournal(device, layout.reserved, { step: 'restored', bytes: 0, sha256: '', keyId });
  await writeTable(device, {
    diskGuid,
    sectorBytes: disk.logicalSectorBytes,
    partitions: layout.partitions,
  });
}

async function configureSystem(
  disk: Disk,
  layout: EncryptedUbuntuLayout,
  system: {
    root: string;
    data: string;
    volumes: readonly EncryptedVolume[];
    pcrs: string;
    /** For a system that is to seal it to what it boots. */
    diskKey: string | undefined;
  },
  context: ActionContext,
): Promise<void> {
  const data = await mountFilesystem(context, system.data, { fsType: 'ext4' });
  for (const name of Object.keys(DATA_FOLDERS)) {
    await mkdir(path.join(data.target, name), { recursive: true });
  }
  await data.unmount();

  const { target } = await mountFilesystem(context, system.root, { fsType: 'ext4' });
  for (const place of ['/data_persistent', ...Object.values(DATA_FOLDERS)]) {
    await mkdir(await pathInRoot(target, place), { recursive: true });
  }
  const { boot } = layout;
  if (boot) await moveBoot(partitionPath(disk.path, boot.number), boot.partUuid, target, context);
  const fstab = await readFile(await pathInRoot(target, '/etc/fstab'), 'utf8').catch(() => '');
  const newFstab = encryptedFstab(fstab, boot && `UUID=${boot.partUuid}`);
  await placeFile(target, { path: '/etc/fstab', contents: newFstab });
  const { volumes, pcrs, diskKey } = system;
  for (const file of [...unlockFiles(volumes, pcrs), ...(diskKey ? sealFiles(pcrs, diskKey) : [])]) {
    await placeFile(target, file);
  }

  const ours = boot ? [{ device: partitionPath(disk.path, boot.number), at: '/boot', fsType: 'ext4' }] : [];
  const theirs = bootMounts(fstab, disk).filter(({ at }) => !(boot && at === '/boot'));
  for (const { device, at, fsType } of [...ours, ...theirs]) {
    await mountOn(context, ['-t', fsType, device], path.join(target, at));
  }
  await enterRoot(context, target, { lendResolvConf: false });
  for (const command of ['update-initramfs -u -k all', 'update-grub']) {
    context.emit({ type: 'progress', stage: command });
    await runInRoot(context, target, command);
  }
  const esp = layout.partitions.find(({ type }) => type === PARTITION_TYPES.esp);
  if (boot?.partUuid && esp)
    await pointLoaderAt(context, partitionPath(disk.path, esp.number), boot.partUuid);
  if (diskKey) await runInRoot(context, target, ARRANGE_BOOT);
}

/** What the image has in /boot, to a partition that the firmware's GRUB can read. */
async function moveBoot(
  device: string,
  uuid: string | undefined,
  root: string,
  context: ActionContext,
): Promise<void> {
  await context.run('mke2fs', ['-q', '-F', '-t', 'ext4', '-L', 'boot', '-U', uuid ?? '', device]);
  const boot = await mountFilesystem(context, device, { fsType: 'ext4' });
  await context.run('cp', ['-a', `${path.join(root, 'boot')}/.`, boot.target]);
  await boot.unmount();
}
