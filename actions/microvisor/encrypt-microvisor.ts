import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext, ActionResult } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { rereadPartitions } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import type { DiskKeys } from '../encryption/disk-keys.ts';
import { requireEscrow } from '../encryption/escrow.ts';
import { closeLeftOpen, openNewVolume } from '../encryption/luks.ts';
import { clearCopies, encryptRoot, encryptState } from '../encryption/move-encrypted.ts';
import { type EncryptVariables, obtainKeys } from '../encryption/obtain-keys.ts';
import { requireTpm } from '../encryption/tpm.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { useOtherDisks } from '../volume-groups/data-disks.ts';
import { makeVolumeGroup } from '../volume-groups/volume-group.ts';
import { findBootUuid } from './boot-uuid.ts';
import { moveOut } from './move-partitions.ts';
import { sealRoot } from './seal-root.ts';
import { describeLayout, keepRootHash, makeSwap, type PlannedSlots, planSlots } from './two-slots.ts';

/**
 * The names under which the boot module of the image opens the volumes, by partition label
 * (docs/background/emf.md#disk-layouts). "tep" and "reserved" stay as they are.
 */
const NAMES: Record<string, string> = {
  hashmap_a: 'root_a_ver_hash_map',
  hashmap_b: 'root_b_ver_hash_map',
  rootfs_b: 'rootfs_b_crypt',
  roothash: 'ver_roothash',
  swap: 'swap_crypt',
  lvm: 'lvmvg_crypt',
};
const ROOT = 'rootfs_crypt';
const STATE = 'emt_persistent';

/** LUKS2 on everything but the EFI system partition, the key in the TPM, and the root sealed with dm-verity inside. */
export async function encryptMicrovisor(
  { disk, others }: { disk: Disk; others: readonly Disk[] },
  variables: EncryptVariables,
  context: ActionContext,
): Promise<ActionResult> {
  // 1. What it needs, before anything is touched.
  requireEscrow(variables);
  await requireTpm();
  await closeAll(context, others);
  const planned = await planSlots(disk, {
    otherDisks: others.length,
    lvmGigabytes: variables.LVM_SIZE,
    isEncrypted: true,
  });
  const { partitions, reserved } = planned.layout;
  const summary = describeLayout(planned.layout);
  context.log('info', `layout of ${disk.path}: ${summary.join(', ')}`);
  if (context.isDryRun) return { summary: `would encrypt ${disk.path}`, data: { layout: summary } };

  // 2. The keys. The recovery key is in safe hands before the first byte is encrypted.
  const begunAt = planned.isMoved ? reserved : undefined;
  const { keys, keyFiles } = await obtainKeys(disk, begunAt, variables, context);

  // 3. The partitions.
  await repartition(disk, planned, keys, context);
  await rereadPartitions(
    context,
    disk,
    partitions.map(({ number }) => number),
  );
  const at = (number: number) => partitionPath(disk.path, number);

  // 4. Encrypted volumes where nothing is yet; then the state and the root, through "reserved".
  for (const { number, partLabel } of partitions) {
    const name = NAMES[partLabel ?? ''];
    if (name) await openNewVolume(context, at(number), name, keyFiles);
  }
  const copies = at(reserved.number);
  const state = await encryptState(context, copies, { device: at(3), name: STATE }, keyFiles);
  const uuid = await bootUuid(context, at(1));
  const root = await encryptRoot(context, copies, { device: at(2), name: ROOT }, keyFiles, uuid);

  // 5. What is on them.
  await context.run('e2fsck', ['-fp', state], { okExitCodes: [0, 1] });
  await context.run('resize2fs', [state]);
  await makeSwap(context, root, { device: mapped('swap'), source: mapped('swap') });
  if (partitions.some(({ partLabel }) => partLabel === 'lvm')) {
    await makeVolumeGroup(context, 'lvmvg', [mapped('lvm')]);
  }
  await useOtherDisks(context, others, (device, name) =>
    openNewVolume(context, device, nameOnDisk(name), keyFiles),
  );

  // 6. The seal; and no readable copy is left behind.
  await context.run('e2fsck', ['-fp', root], { okExitCodes: [0, 1] });
  const rootHash = await seal(root, mapped('hashmap_a'), context);
  await keepRootHash(context, mapped('roothash'), rootHash);
  await clearCopies(context, copies);
  return {
    summary: `${disk.path} is encrypted (recovery key ${keys.keyId}); the root is sealed with ${rootHash.slice(0, 16)}…`,
    data: { rootHash, keyId: keys.keyId, layout: summary },
  };
}

const mapped = (label: string) => `/dev/mapper/${NAMES[label]}`;
const nameOnDisk = (disk: string) => `${disk}_crypt`;

/** What a killed run left open would keep the disk busy. */
async function closeAll(context: ActionContext, others: readonly Disk[]): Promise<void> {
  const names = [...Object.values(NAMES), ROOT, STATE, ...others.map(({ name }) => nameOnDisk(name))];
  for (const name of names) await closeLeftOpen(context, name);
}

/** Copies the state out, changes the table, and clears the place where the state could still be read. */
async function repartition(
  disk: Disk,
  { layout, diskGuid, isMoved }: PlannedSlots,
  { keyId }: DiskKeys,
  context: ActionContext,
): Promise<void> {
  await using device = await BlockDevice.open(disk.path);
  const journal = await moveOut(
    device,
    layout,
    { diskGuid, sectorBytes: disk.logicalSectorBytes, isMoved },
    {
      signal: context.signal,
      onProgress: (stage, percent) => context.emit({ type: 'progress', stage, percent }),
    },
    keyId,
  );
  if (journal.step !== 'copied' || journal.oldStartBytes === undefined) return;
  await device.zero(journal.oldStartBytes, journal.bytes, { signal: context.signal });
  await device.sync();
}

async function bootUuid(context: ActionContext, systemPartition: string): Promise<string | undefined> {
  const mounted = await mountFilesystem(context, systemPartition, { fsType: 'vfat', isReadOnly: true });
  const uuid = await findBootUuid(mounted.target);
  await mounted.unmount();
  if (!uuid) context.log('warn', 'no kernel image in EFI/Linux names a boot_uuid; the root gets a new UUID');
  return uuid;
}

async function seal(root: string, hashes: string, context: ActionContext): Promise<string> {
  await using data = await BlockDevice.open(root);
  await using tree = await BlockDevice.open(hashes);
  return await sealRoot(
    { device: data, startBytes: 0, sizeBytes: data.sizeBytes },
    { device: tree, startBytes: 0, sizeBytes: tree.sizeBytes },
    {
      signal: context.signal,
      onProgress: (percent) => context.emit({ type: 'progress', stage: 'sealing the root', percent }),
    },
  );
}
