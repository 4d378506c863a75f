import { randomUUID } from 'node:crypto';
import { access, appendFile, readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { waitFor } from '../../agent/system/wait.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { readPartitionTable } from '../../protocol/partition-table/read.ts';
import { type ActionContext, type ActionResult, defineAction } from '../action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { whyNever, whyNotByItself } from '../disks/choose-target.ts';
import { findTargetDisk, SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { placeFile } from '../target-root/place-file.ts';
import { type MicrovisorLayout, planMicrovisorLayout } from './layout.ts';
import { moveToLayout } from './move-partitions.ts';
import { sealRoot } from './seal-root.ts';

export const fdeDmv = defineAction({
  name: 'fde_dmv',
  aliases: [],
  summary: 'Gives an Edge Microvisor system its two slots and seals its root with dm-verity',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    LVM_SIZE: {
      type: 'integer',
      default: 0,
      max: 1_000_000,
      description: 'GB for a volume group lvmvg on the same disk; 0 for none',
    },
    ENABLE_ONLY_DMVERITY: {
      type: 'boolean',
      default: false,
      description:
        'true: dm-verity only. false: full disk encryption too, which Kindling does not do yet: it refuses before it touches anything',
    },
    MINIMUM_ROOTFS_SIZE: { type: 'integer', description: 'Accepted; only the encryption of Ubuntu uses it' },
    DEST_DISK: { type: 'absolute-path', description: 'The disk; without it the target disk' },
  },
  notes: [
    'Partitions as the boot module of the image expects them: 1 esp, 2 rootfs, 3 edge_persistent, 4 hashmap_a, 5 hashmap_b, 6 rootfs_b, 7 roothash, 8 swap, 9 reserved, 10 lvm. The root hash is in `part_a_roothash` on partition 7.',
    'Any disk name; resumable: a journal on the disk says how far the move of the state partition was. The second slot stays empty. Everything that changes the root must come before this action.',
  ],
  async run(variables, context) {
    if (!variables.ENABLE_ONLY_DMVERITY) {
      throw new KindlingError(
        'KND_ENCRYPTION_UNSUPPORTED',
        'full disk encryption was asked for (ENABLE_ONLY_DMVERITY is not true)',
      );
    }
    return sealMicrovisor(variables, context);
  },
});

async function sealMicrovisor(
  variables: { LVM_SIZE: number; DEST_DISK: string | undefined; KINDLING_DISK: string | undefined },
  context: ActionContext,
): Promise<ActionResult> {
  // 1. The disk and what it is to become.
  const { disk, disks } = await findTargetDisk(context, {
    device: variables.DEST_DISK,
    selector: variables.KINDLING_DISK,
  });
  const others = disks.filter((other) => other !== disk && !whyNever(other) && !whyNotByItself(other));
  const { layout, diskGuid, isMoved } = await planFor(disk, others.length, variables.LVM_SIZE);
  const summary = layout.partitions.map(
    ({ number, partLabel, sizeBytes }) => `${number} ${partLabel} ${Math.round(sizeBytes / 2 ** 20)} MiB`,
  );
  context.log('info', `layout of ${disk.path}: ${summary.join(', ')}`);
  if (context.isDryRun) return { summary: `would give ${disk.path} two slots`, data: { layout: summary } };

  // 2. The partitions.
  {
    await using device = await BlockDevice.open(disk.path);
    await moveToLayout(
      device,
      layout,
      { diskGuid, sectorBytes: disk.logicalSectorBytes, isMoved },
      {
        signal: context.signal,
        onProgress: (stage, percent) => context.emit({ type: 'progress', stage, percent: percent / 2 }),
      },
    );
  }
  await context.run('blockdev', ['--rereadpt', disk.path]);
  const at = (number: number) => partitionPath(disk.path, number);
  await waitFor(
    () =>
      access(at(9)).then(
        () => true,
        () => undefined,
      ),
    {
      name: `the partitions of ${disk.path}`,
      timeoutMs: 20_000,
      signal: context.signal,
      code: 'KND_PARTITIONS_MISSING',
    },
  );

  // 3. What is on them.
  await context.run('e2fsck', ['-fp', at(3)], { okExitCodes: [0, 1] });
  await context.run('resize2fs', [at(3)]);
  await makeSwap(context, at(2), at(8), partitionOf(layout, 8).partUuid ?? '');
  if (layout.partitions.some(({ number }) => number === 10)) await makeVolumeGroup(context, at(10));

  // 4. The seal: from here on a changed byte of the root is an I/O error.
  await context.run('e2fsck', ['-fp', at(2)], { okExitCodes: [0, 1] });
  const rootHash = await seal(disk, layout, context);
  await context.run('mke2fs', ['-q', '-F', '-t', 'ext4', '-L', 'roothash', at(7)]);
  const hashes = await mountFilesystem(context, at(7), { fsType: 'ext4' });
  await placeFile(hashes.target, { path: '/part_a_roothash', contents: rootHash });
  await hashes.unmount();
  return {
    summary: `${disk.path} has two slots; the root is sealed with ${rootHash.slice(0, 16)}…`,
    data: { rootHash, layout: summary },
  };
}

async function planFor(disk: Disk, otherDisks: number, lvmGigabytes: number) {
  await using device = await BlockDevice.open(disk.path);
  const table = await readPartitionTable(
    device.readAt.bind(device),
    device.sizeBytes,
    disk.logicalSectorBytes,
  );
  if (table?.kind !== 'gpt' || !table.id)
    throw new KindlingError('KND_NOT_MICROVISOR', `${disk.path} has no GUID partition table`);
  const isMoved = table.partitions.some(({ partLabel }) => partLabel === 'hashmap_a');
  const layout: MicrovisorLayout = isMoved
    ? movedLayout(table.partitions)
    : planMicrovisorLayout({
        sizeBytes: device.sizeBytes,
        sectorBytes: disk.logicalSectorBytes,
        partitions: table.partitions,
        ramBytes: totalmem(),
        otherDisks,
        lvmGigabytes,
        newGuid: randomUUID,
      });
  return { layout, diskGuid: table.id, isMoved };
}

/** The layout of a disk that has it already: a run after a kill, or after the root was changed once more. */
function movedLayout(partitions: MicrovisorLayout['partitions']): MicrovisorLayout {
  const find = (number: number) => partitions.find((part) => part.number === number);
  const [persistent, reserved] = [find(3), find(9)];
  if (!persistent || !reserved) {
    throw new KindlingError('KND_NOT_MICROVISOR', 'the layout with two slots lacks partitions 3 or 9');
  }
  return { partitions, oldPersistent: persistent, persistent, reserved };
}

/** Swap, and its line in the root's fstab, once. */
async function makeSwap(context: ActionContext, root: string, swap: string, partUuid: string): Promise<void> {
  await context.run('mkswap', ['-L', 'swap', swap]);
  const mounted = await mountFilesystem(context, root, { fsType: 'ext4' });
  const fstab = await pathInRoot(mounted.target, '/etc/fstab');
  const text = await readFile(fstab, 'utf8').catch(() => '');
  if (!text.includes(partUuid)) await appendFile(fstab, `PARTUUID=${partUuid} none swap defaults 0 0\n`);
  await mounted.unmount();
}

async function makeVolumeGroup(context: ActionContext, device: string): Promise<void> {
  await context.run('lvm', ['pvcreate', '-ff', '-y', device]);
  await context.run('lvm', ['vgcreate', 'lvmvg', device]);
}

async function seal(disk: Disk, layout: MicrovisorLayout, context: ActionContext): Promise<string> {
  await using device = await BlockDevice.open(disk.path);
  return await sealRoot(device, partitionOf(layout, 2), partitionOf(layout, 4), {
    signal: context.signal,
    onProgress: (percent) =>
      context.emit({ type: 'progress', stage: 'sealing the root', percent: 50 + percent / 2 }),
  });
}

function partitionOf({ partitions }: MicrovisorLayout, number: number) {
  const found = partitions.find((part) => part.number === number);
  if (!found) throw new KindlingError('KND_NOT_MICROVISOR', `partition ${number} is missing`);
  return found;
}
