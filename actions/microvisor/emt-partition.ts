import { randomUUID } from 'node:crypto';
import { totalmem } from 'node:os';
import { KindlingError } from '../../protocol/error.ts';
import { defineAction } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { findInstalledDisk, readTable, rereadPartitions, writeTable } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { findRootPartition } from '../disks/root-partition.ts';
import { LVM_SIZE_PARAMETER } from '../volume-groups/lvm-size.ts';
import { makeVolumeGroup } from '../volume-groups/volume-group.ts';
import { planAddedPartitions } from './single-slot-layout.ts';
import { makeSwap } from './two-slots.ts';

export const emtPartition = defineAction({
  name: 'emt_partition',
  aliases: [],
  summary: 'Adds swap, a second root of 3 GB and maybe a volume group to an Edge Microvisor image',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    ...LVM_SIZE_PARAMETER,
    DEST_DISK: { type: 'absolute-path', description: 'The disk; without it the target disk' },
  },
  notes: [
    'EMF keeps it for old workflows; its templates use fde_dmv instead. The new partitions are at the end of the disk, the last partition of the image grows up to them, and the second root stays empty.',
  ],
  async run(variables, context) {
    const { disk } = await findInstalledDisk(context, variables);
    const table = await readTable(disk);
    if (table?.kind !== 'gpt' || !table.id)
      throw new KindlingError('KND_NOT_MICROVISOR', `${disk.path} has no GUID partition table`);
    const plan = planAddedPartitions({
      sizeBytes: disk.sizeBytes,
      sectorBytes: disk.logicalSectorBytes,
      partitions: table.partitions,
      ramBytes: totalmem(),
      lvmGigabytes: variables.LVM_SIZE,
      newGuid: randomUUID,
    });
    const layout = plan.partitions.map(
      ({ number, partLabel, sizeBytes }) => `${number} ${partLabel} ${Math.round(sizeBytes / 2 ** 20)} MiB`,
    );
    context.log('info', `layout of ${disk.path}: ${layout.join(', ')}`);
    if (context.isDryRun) return { summary: `would add partitions to ${disk.path}`, data: { layout } };

    {
      await using device = await BlockDevice.open(disk.path);
      await writeTable(device, {
        diskGuid: table.id,
        sectorBytes: disk.logicalSectorBytes,
        partitions: plan.partitions,
      });
    }
    await rereadPartitions(
      context,
      disk,
      plan.partitions.map(({ number }) => number),
    );
    const at = ({ number }: { number: number }) => partitionPath(disk.path, number);
    await context.run('e2fsck', ['-fp', at(plan.grown)], { okExitCodes: [0, 1] });
    await context.run('resize2fs', [at(plan.grown)]);
    const root = findRootPartition(disk).path;
    await makeSwap(context, root, { device: at(plan.swap), source: `PARTUUID=${plan.swap.partUuid}` });
    if (plan.lvm) await makeVolumeGroup(context, 'lvmvg', [at(plan.lvm)]);
    return { summary: `${disk.path} has swap and a second root`, data: { layout } };
  },
});
