import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext, ActionResult } from '../action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { identityOf } from '../disks/disk-identity.ts';
import { rereadPartitions } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { type DiskKeys, diskKeysOf, newDiskKeys } from '../encryption/disk-keys.ts';
import { type EscrowRequest, escrowRecoveryKey, requireEscrow } from '../encryption/escrow.ts';
import { type KeyFiles, layOutKeys } from '../encryption/key-files.ts';
import { closeLeftOpen, formatLuks, isFormatted, openLuks } from '../encryption/luks.ts';
import { requireTpm, sealInTpm, unsealFromTpm } from '../encryption/tpm.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { useOtherDisks } from '../volume-groups/data-disks.ts';
import { makeVolumeGroup } from '../volume-groups/volume-group.ts';
import { findBootUuid } from './boot-uuid.ts';
import { clearCopies, encryptRoot, encryptState } from './move-encrypted.ts';
import { readJournal } from './move-journal.ts';
import { moveOut } from './move-partitions.ts';
import { sealRoot } from './seal-root.ts';
import { describeLayout, keepRootHash, makeSwap, type PlannedSlots, planSlots } from './two-slots.ts';

/** The names under which the boot module of the image opens the volumes, by partition label (emf.md 4.8). «tep» and «reserved» stay as they are. */
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

export interface EncryptVariables extends EscrowRequest {
  LVM_SIZE: number;
  FDE_PCRS: string;
}

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
  const keys = await obtainKeys(disk, planned, variables, context);
  await escrowRecoveryKey(variables, keys, identityOf(disk), context.signal);
  if (variables.KINDLING_ESCROW_URL) context.log('info', `recovery key ${keys.keyId} is in escrow`);
  await sealInTpm(context, keys.diskKey, variables.FDE_PCRS);
  const keyFiles = { ...(await layOutKeys(context, keys)), keyId: keys.keyId };

  // 3. The partitions.
  await repartition(disk, planned, keys, context);
  await rereadPartitions(
    context,
    disk,
    partitions.map(({ number }) => number),
  );
  const at = (number: number) => partitionPath(disk.path, number);

  // 4. Encrypted volumes where nothing is yet; then the state and the root, through «reserved».
  for (const { number, partLabel } of partitions) {
    const name = NAMES[partLabel ?? ''];
    if (name) await openNew(context, at(number), name, keyFiles);
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
    openNew(context, device, nameOnDisk(name), keyFiles),
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

/** New keys for a disk that is as the image left it; for one that an earlier run has begun, that run’s, from the TPM. */
async function obtainKeys(
  disk: Disk,
  { isMoved, layout }: PlannedSlots,
  { FDE_PCRS }: EncryptVariables,
  context: ActionContext,
): Promise<DiskKeys> {
  if (!isMoved) return newDiskKeys();
  await using device = await BlockDevice.open(disk.path);
  const journal = await readJournal(device, layout.reserved);
  const keys = diskKeysOf(await unsealFromTpm(context, FDE_PCRS));
  if (journal?.keyId === keys.keyId) return keys;
  throw new KindlingError(
    'KND_TPM_KEY_LOST',
    `${disk.path} was encrypted with key ${journal?.keyId ?? 'unknown'}, the TPM holds ${keys.keyId}`,
  );
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

/** An encrypted volume with nothing in it yet; one that an earlier run made is opened as it is. */
async function openNew(
  context: ActionContext,
  device: string,
  name: string,
  keys: KeyFiles & { keyId: string },
): Promise<string> {
  if (!(await isFormatted(context, device, keys.disk))) {
    context.emit({ type: 'progress', stage: `encrypting ${name}` });
    await formatLuks(context, device, keys, { label: name });
  }
  return (await openLuks(context, device, name, keys.disk)).path;
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
