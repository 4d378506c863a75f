import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext, ActionResult } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { rereadPartitions } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { useOtherDisks } from '../volume-groups/data-disks.ts';
import { makeVolumeGroup } from '../volume-groups/volume-group.ts';
import { moveToLayout } from './move-partitions.ts';
import { sealRoot } from './seal-root.ts';
import {
  describeLayout,
  keepRootHash,
  makeSwap,
  type PlannedSlots,
  partitionOf,
  planSlots,
} from './two-slots.ts';

/** dm-verity only: two slots, and the root of the first sealed. */
export async function sealMicrovisor(
  { disk, others }: { disk: Disk; others: readonly Disk[] },
  lvmGigabytes: number,
  context: ActionContext,
): Promise<ActionResult> {
  // 1. What the disk is to become.
  const planned = await planSlots(disk, { otherDisks: others.length, lvmGigabytes, isEncrypted: false });
  const { layout } = planned;
  const summary = describeLayout(layout);
  context.log('info', `layout of ${disk.path}: ${summary.join(', ')}`);
  if (context.isDryRun) return { summary: `would give ${disk.path} two slots`, data: { layout: summary } };

  // 2. The partitions.
  await movePartitions(disk, planned, context);
  const at = (number: number) => partitionPath(disk.path, number);
  await rereadPartitions(
    context,
    disk,
    layout.partitions.map(({ number }) => number),
  );

  // 3. What is on them.
  await context.run('e2fsck', ['-fp', at(3)], { okExitCodes: [0, 1] });
  await context.run('resize2fs', [at(3)]);
  await makeSwap(context, at(2), { device: at(8), source: `PARTUUID=${partitionOf(layout, 8).partUuid}` });
  const lvm = layout.partitions.find(({ partLabel }) => partLabel === 'lvm');
  if (lvm) await makeVolumeGroup(context, 'lvmvg', [at(lvm.number)]);
  await useOtherDisks(context, others);

  // 4. The seal: from here on a changed byte of the root is an I/O error.
  await context.run('e2fsck', ['-fp', at(2)], { okExitCodes: [0, 1] });
  const rootHash = await seal(disk, planned, context);
  await keepRootHash(context, at(7), rootHash);
  return {
    summary: `${disk.path} has two slots; the root is sealed with ${rootHash.slice(0, 16)}…`,
    data: { rootHash, layout: summary },
  };
}

async function movePartitions(
  disk: Disk,
  { layout, diskGuid, isMoved }: PlannedSlots,
  context: ActionContext,
): Promise<void> {
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

async function seal(disk: Disk, { layout }: PlannedSlots, context: ActionContext): Promise<string> {
  await using device = await BlockDevice.open(disk.path);
  return await sealRoot(
    { device, ...partitionOf(layout, 2) },
    { device, ...partitionOf(layout, 4) },
    {
      signal: context.signal,
      onProgress: (percent) =>
        context.emit({ type: 'progress', stage: 'sealing the root', percent: 50 + percent / 2 }),
    },
  );
}
