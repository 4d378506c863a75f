import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { waitFor } from '../../agent/system/wait.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { encodeGpt } from '../../protocol/partition-table/gpt-encode.ts';
import { readPartitionTable } from '../../protocol/partition-table/read.ts';
import { type ActionContext, defineAction } from '../action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { findTargetDisk, SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
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
    'The partition lies at the end of the disk and is called «lvm»; the root in front of it still grows at its first boot. Partitions that are there stay as they are. Needs the full Micro-OS, which has LVM. Edge Microvisor systems get theirs from `fde_dmv`.',
  ],
  async run(variables, context) {
    const { disk } = await findTargetDisk(context, {
      device: variables.DEST_DISK,
      selector: variables.KINDLING_DISK,
    });
    const { number, isThere } = await makePartition(disk, variables.LVM_SIZE, context.isDryRun);
    const device = partitionPath(disk.path, number);
    const what = `${variables.LVM_SIZE} GiB for ${variables.VG_NAME} on ${device}`;
    if (context.isDryRun) return { summary: `would make ${what}` };
    if (!isThere) await showPartition(disk, device, context);
    await makeVolumeGroup(context, variables.VG_NAME, device);
    return { summary: `made ${what}`, data: { partition: device, volumeGroup: variables.VG_NAME } };
  },
});

async function makePartition(
  disk: Disk,
  lvmGigabytes: number,
  isDryRun: boolean,
): Promise<{ number: number; isThere: boolean }> {
  await using device = await BlockDevice.open(disk.path);
  const { sizeBytes } = device;
  const sectorBytes = disk.logicalSectorBytes;
  const table = await readPartitionTable(device.readAt.bind(device), sizeBytes, sectorBytes);
  if (table?.kind !== 'gpt' || table.id === undefined) {
    throw new KindlingError('KND_PARTITION_LAYOUT', `${disk.path} has no GUID partition table`);
  }
  const { partitions } = table;
  const { partition, isThere } = planLvmPartition({
    partitions,
    sizeBytes,
    sectorBytes,
    lvmGigabytes,
    newGuid: randomUUID,
  });
  if (!isThere && !isDryRun) {
    const pieces = encodeGpt({
      diskGuid: table.id,
      sectorBytes,
      sizeBytes,
      partitions: [...partitions, partition],
      bootCode: await device.readAt(0, 440),
    });
    for (const { offset, bytes } of pieces) await device.writeAt(offset, bytes);
    await device.sync();
  }
  return { number: partition.number, isThere };
}

async function showPartition(disk: Disk, device: string, context: ActionContext): Promise<void> {
  await context.run('blockdev', ['--rereadpt', disk.path]);
  const isThere = () =>
    access(device).then(
      () => true,
      () => undefined,
    );
  await waitFor(isThere, {
    name: `the partition ${device}`,
    timeoutMs: 20_000,
    signal: context.signal,
    code: 'KND_PARTITIONS_MISSING',
  });
}

/** No udev runs in the Micro-OS: LVM must not wait for it. A group of that name that is there already stays. */
async function makeVolumeGroup({ run }: ActionContext, name: string, device: string): Promise<void> {
  const withoutUdev = [
    '--config',
    'activation{udev_sync=0 udev_rules=0} devices{obtain_device_list_from_udev=0}',
  ];
  const lvm = (command: string, ...args: string[]) =>
    run('lvm', [command, ...withoutUdev, ...args], { okExitCodes: [0, 5] });
  const found = await lvm('pvs', '--noheadings', '-o', 'vg_name', device);
  if (found.exitCode === 0 && found.stdout.trim() === name) return;
  await run('lvm', ['pvcreate', ...withoutUdev, '-ff', '-y', device]);
  await run('lvm', ['vgcreate', ...withoutUdev, name, device]);
}
