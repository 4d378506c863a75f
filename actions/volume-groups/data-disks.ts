import { randomUUID } from 'node:crypto';
import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { rereadPartitions, writeTable } from '../disks/installed-disk.ts';
import { partitionPath } from '../disks/partition-paths.ts';
import { announcePlan, checkPlanHolds, planFor } from '../disks/plan.ts';
import { makeVolumeGroup } from './volume-group.ts';

const MIB = 2 ** 20;
const LABEL = 'kindling_data';

/** Puts something between the partition and the volume group: an encrypted volume. */
export type Wrap = (device: string, name: string) => Promise<string>;

/**
 * Gives the other disks of the machine to the volume group lvmvg, those with other sectors to lvmvg2
 * (docs/background/emf.md#disk-layouts, docs/background/emf.md#disk-of-a-mutable-system). EMF takes every disk,
 * whatever is on it; here only empty ones, and ones that an earlier run has taken.
 */
export async function useOtherDisks(
  context: Pick<ActionContext, 'run' | 'signal' | 'log' | 'emit' | 'machine'>,
  others: readonly Disk[],
  wrap: Wrap = async (device) => device,
): Promise<void> {
  const usable = others.filter((disk) => isEmpty(disk) || isOurs(disk));
  for (const disk of others.filter((other) => !usable.includes(other))) {
    context.log('info', `${disk.path} is not empty: it stays as it is and gets no volume group`);
  }
  if (usable.length === 0) return;
  if (!(await hasLvm(context))) {
    context.log('warn', 'this Micro-OS has no LVM: the other disks stay empty (profile “full” has it)');
    return;
  }
  const plan = planFor(
    'take for a volume group',
    usable.filter((disk) => !isOurs(disk)),
    others.filter((disk) => !usable.includes(disk)).map((disk) => ({ disk, reason: 'it is not empty' })),
  );
  if (plan.destroys.length > 0) announcePlan(context, plan, { policy: 'never', given: undefined });
  checkPlanHolds(plan, await context.machine.listDisks());
  const groups = Map.groupBy(usable, ({ logicalSectorBytes }) => logicalSectorBytes);
  for (const [index, disks] of [...groups.values()].entries()) {
    const volumes: string[] = [];
    for (const disk of disks) volumes.push(await wrap(await partitionFor(context, disk), disk.name));
    await makeVolumeGroup(context, index === 0 ? 'lvmvg' : `lvmvg${index + 1}`, volumes);
  }
}

const isEmpty = ({ partitionTable, signatures }: Disk) => !partitionTable && signatures.length === 0;
const isOurs = ({ partitions }: Disk) => partitions.length === 1 && partitions[0]?.partLabel === LABEL;

async function hasLvm({ run }: Pick<ActionContext, 'run'>): Promise<boolean> {
  return run('lvm', ['version']).then(
    () => true,
    (cause: unknown) => {
      if (cause instanceof KindlingError && cause.code === 'KND_TOOL_MISSING') return false;
      throw cause;
    },
  );
}

/** One partition over the whole disk, so that other systems see that it is taken. */
async function partitionFor(context: Pick<ActionContext, 'run' | 'signal'>, disk: Disk): Promise<string> {
  if (!isOurs(disk)) {
    const sectorBytes = disk.logicalSectorBytes;
    const end = Math.floor(usableRange({ sectorBytes, sizeBytes: disk.sizeBytes }).end / MIB) * MIB;
    const whole = {
      number: 1,
      startBytes: MIB,
      sizeBytes: end - MIB,
      type: PARTITION_TYPES.lvm,
      partUuid: randomUUID(),
      partLabel: LABEL,
    };
    await using device = await BlockDevice.open(disk.path);
    await writeTable(device, { diskGuid: randomUUID(), sectorBytes, partitions: [whole] });
  }
  await rereadPartitions(context, disk, [1]);
  return partitionPath(disk.path, 1);
}
