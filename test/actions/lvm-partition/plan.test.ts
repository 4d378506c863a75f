import { expect, test } from 'vitest';
import { refuseOthersVolumes } from '../../../actions/lvm-partition/lvm-partition.ts';
import { planLvmPartition } from '../../../actions/lvm-partition/plan.ts';
import type { PartitionEntry } from '../../../formats/partition-table/table.ts';
import type { Run } from '../../../system/run.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const ROOT: PartitionEntry = { number: 1, type: 'root', startBytes: MIB, sizeBytes: GIB };
const REQUEST = { sizeBytes: 10 * GIB, sectorBytes: 512, lvmGigabytes: 4, newGuid: () => 'new' };

test('the partition lies at the end, under the first free number, and touches no other', () => {
  const esp: PartitionEntry = { number: 15, type: 'esp', startBytes: 2 * GIB, sizeBytes: GIB };
  const { partition, isThere } = planLvmPartition({ ...REQUEST, partitions: [ROOT, esp] });
  expect(isThere).toBe(false);
  expect(partition).toMatchObject({ number: 2, sizeBytes: 4 * GIB, partUuid: 'new', partLabel: 'lvm' });
  expect(partition.startBytes % MIB).toBe(0);
  expect(partition.startBytes).toBeGreaterThan(5 * GIB);
});

test('one that is there already is taken', () => {
  const { partition } = planLvmPartition({ ...REQUEST, partitions: [ROOT] });
  const again = planLvmPartition({ ...REQUEST, partitions: [ROOT, partition] });
  expect(again).toEqual({ partition, isThere: true });
});

test('what does not fit is refused before anything is written', () => {
  expect(() => planLvmPartition({ ...REQUEST, lvmGigabytes: 9, partitions: [ROOT] })).toThrow(
    expect.objectContaining({ code: 'KND_DISK_TOO_SMALL', message: expect.stringContaining('8 GiB') }),
  );
});

test.each([
  ['lvmvg', 'lvmvg', false],
  ['', 'lvmvg', false],
  ['data', 'lvmvg', true],
])(
  'a partition of the volume group “%s” where %s is wanted: refused %s',
  async (found, wanted, isRefused) => {
    const run: Run = async () => ({ stdout: `  ${found}\n`, stderr: '', exitCode: 0, durationMs: 1 });
    const asking = refuseOthersVolumes({ run }, '/dev/sda5', wanted);
    await (isRefused
      ? expect(asking).rejects.toMatchObject({
          code: 'KND_DISK_REFUSED',
          message: expect.stringContaining('data'),
        })
      : expect(asking).resolves.toBeUndefined());
  },
);
