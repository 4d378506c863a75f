import { encodeGpt, type GptLayout } from '../../formats/partition-table/gpt-encode.ts';
import { readPartitionTable } from '../../formats/partition-table/read.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { BlockDevice } from './block-device.ts';
import { whyNever, whyNotByItself } from './choose-target.ts';
import { findTargetDisk } from './find-target-disk.ts';
import { partitionPath } from './partition-paths.ts';
import { waitForPartitions } from './wait-for-partitions.ts';

/** The disk a system was just written to, and the other disks of the machine that could take data. */
export async function findInstalledDisk(
  context: Pick<ActionContext, 'machine'>,
  variables: { DEST_DISK: string | undefined; KINDLING_DISK: string | undefined },
): Promise<{ disk: Disk; others: Disk[] }> {
  const { disk, disks } = await findTargetDisk(context, {
    device: variables.DEST_DISK,
    selector: variables.KINDLING_DISK,
  });
  return {
    disk,
    others: disks.filter((other) => other !== disk && !whyNever(other) && !whyNotByItself(other)),
  };
}

/** The table as it is on the disk now; the inventory’s partitions lack what the table alone knows. */
export async function readTable(disk: Disk) {
  await using device = await BlockDevice.open(disk.path);
  return await readPartitionTable(device.readAt.bind(device), device.sizeBytes, disk.logicalSectorBytes);
}

/**
 * Writes a table; the boot code of the disk stays. One copy is on the medium before the other changes, so that a power cut leaves the old table
 * or the new one: without the sync in between both could be torn, and the system on the disk lost.
 */
export async function writeTable(
  device: BlockDevice,
  table: Pick<GptLayout, 'diskGuid' | 'sectorBytes' | 'partitions'>,
): Promise<void> {
  const bootCode = await device.readAt(0, 440);
  for (const { offset, bytes } of encodeGpt({ ...table, sizeBytes: device.sizeBytes, bootCode })) {
    await device.writeAt(offset, bytes);
    await device.sync();
  }
}

/** Makes the kernel read the table again, and waits until it shows these partitions. */
export async function rereadPartitions(
  context: Pick<ActionContext, 'run' | 'signal'>,
  disk: Pick<Disk, 'path'>,
  numbers: readonly number[],
): Promise<void> {
  await context.run('blockdev', ['--rereadpt', disk.path]);
  const paths = numbers.map((number) => partitionPath(disk.path, number));
  await waitForPartitions(context, disk.path, paths);
}
