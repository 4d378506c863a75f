import { randomUUID } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { fileExists } from '../../system/file-exists.ts';
import { type ActionContext, defineAction } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { findInstalledDisk, readTable, rereadPartitions, writeTable } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { makeVolumeGroup, volumeGroupOn } from '../volume-groups/volume-group.ts';
import { planLvmPartition } from './plan.ts';

export const lvmPartition = defineAction({
  name: 'lvm-partition',
  aliases: [],
  summary: 'Gives the end of the target disk to an LVM volume group',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    LVM_SIZE: {
      type: 'integer',
      required: true,
      min: 1,
      max: 1_000_000,
      description: 'GiB for the volume group',
    },
    VG_NAME: {
      type: 'text',
      default: 'lvmvg',
      pattern: /^[A-Za-z0-9+_.][A-Za-z0-9+_.-]{0,126}$/,
      description: 'Name of the volume group',
    },
    DEST_DISK: { type: 'absolute-path', description: 'The disk; without it the target disk' },
  },
  notes: [
    'The partition lies at the end of the disk and is called “lvm”; the root in front of it still grows at its first boot. Partitions that are there stay as they are. Needs the full Micro-OS, which has LVM. Edge Microvisor systems get theirs from `fde_dmv`.',
  ],
  async run(variables, context) {
    const { disk } = await findInstalledDisk(context, variables);
    const { number, isThere } = await makePartition(disk, variables.LVM_SIZE, context.isDryRun);
    const device = partitionPath(disk.path, number);
    const what = `${variables.LVM_SIZE} GiB for ${variables.VG_NAME} on ${device}`;
    if (context.isDryRun) return { summary: `would make ${what}` };
    // There already may mean: written by a run that was killed before the kernel was told.
    if (!isThere || !(await fileExists(device))) await rereadPartitions(context, disk, [number]);
    if (isThere) await refuseOthersVolumes(context, device, variables.VG_NAME);
    await makeVolumeGroup(context, variables.VG_NAME, [device]);
    return { summary: `made ${what}`, data: { partition: device, volumeGroup: variables.VG_NAME } };
  },
});

/** A partition that was there may hold a group of another name, and data with it. One that was just made can only hold leftovers. */
export async function refuseOthersVolumes(
  context: Pick<ActionContext, 'run'>,
  device: string,
  wanted: string,
): Promise<void> {
  const found = await volumeGroupOn(context, device);
  if (found === undefined || found === wanted) return;
  throw new KindlingError(
    'KND_DISK_REFUSED',
    `${device} already belongs to the volume group ${found}, which ${wanted} would destroy`,
    { hint: 'Give VG_NAME the name that is there, or erase the disk first.' },
  );
}

async function makePartition(
  disk: Disk,
  lvmGigabytes: number,
  isDryRun: boolean,
): Promise<{ number: number; isThere: boolean }> {
  const table = await readTable(disk);
  if (table?.kind !== 'gpt' || table.id === undefined) {
    throw new KindlingError('KND_PARTITION_LAYOUT', `${disk.path} has no GUID partition table`);
  }
  const sectorBytes = disk.logicalSectorBytes;
  const { partition, isThere } = planLvmPartition({
    partitions: table.partitions,
    sizeBytes: disk.sizeBytes,
    sectorBytes,
    lvmGigabytes,
    newGuid: randomUUID,
  });
  if (!isThere && !isDryRun) {
    await using device = await BlockDevice.open(disk.path);
    await writeTable(device, {
      diskGuid: table.id,
      sectorBytes,
      partitions: [...table.partitions, partition],
    });
  }
  return { number: partition.number, isThere };
}
