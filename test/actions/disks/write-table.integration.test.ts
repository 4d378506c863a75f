import { describe, expect, test } from 'vitest';
import { BlockDevice } from '../../../actions/disks/block-device.ts';
import { writeTable } from '../../../actions/disks/installed-disk.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import { type Exploration, explore } from '../../crash-explorer/explore.ts';
import type { DiskView } from '../../crash-explorer/find-system.ts';
import { viewOf } from '../../crash-explorer/judge.ts';
import { LoopWith } from '../../crash-explorer/loop-with.ts';
import { recordBlockDevices } from '../../crash-explorer/record-block-devices.ts';
import { tableOf } from '../../crash-explorer/table-of.ts';
import type { Operation } from '../../crash-explorer/trace.ts';
import { rounds, testSeed } from '../../seeds/seeds.ts';

const MIB = 2 ** 20;
const SIZE = 4 * MIB;
const SEED = 20261118;
const STATES = rounds(2000);
const GUID = '0fc63daf-8483-4772-8e79-3d69d8477de4';

const partition = (number: number, startBytes: number, partLabel: string) => ({
  number,
  startBytes,
  sizeBytes: MIB / 2,
  type: GUID,
  partUuid: `00000000-0000-4000-8000-00000000000${number}`,
  partLabel,
});
const INSTALLED = [partition(1, MIB, 'esp'), partition(2, 2 * MIB, 'rootfs')];
const GROWN = [...INSTALLED, partition(3, 3 * MIB, 'lvm')];

function diskWith(partitions: typeof INSTALLED, sectorBytes: number): Buffer {
  const disk = Buffer.alloc(SIZE);
  const layout = {
    diskGuid: GUID,
    sectorBytes,
    sizeBytes: SIZE,
    partitions,
    bootCode: Buffer.alloc(440, 0x90),
  };
  for (const { offset, bytes } of encodeGpt(layout)) bytes.copy(disk, offset);
  return disk;
}

// lvm-partition, emt_partition, fde_dmv, kernelupgrd and syslinux change the table of a disk that holds a system.
describe.each([512, 4096])('a table that changes on a disk with sectors of %d bytes', (sectorSize) => {
  const before = diskWith(INSTALLED, sectorSize);
  const after = diskWith(GROWN, sectorSize);

  async function record(): Promise<Operation[]> {
    using loop = new LoopWith(before, sectorSize);
    await using device = await BlockDevice.open(loop.device);
    const operations = await recordBlockDevices(
      () => 0,
      () => writeTable(device, { diskGuid: GUID, sectorBytes: sectorSize, partitions: GROWN }),
    );
    expect((await device.readAt(0, SIZE)).equals(after)).toBe(true);
    return operations;
  }

  const known = [before, after].map((disk) => tableOf(viewOf(disk, sectorSize)));
  const judge = (disk: DiskView): string => {
    const found = tableOf(disk);
    if (!found) return 'no table';
    return known.some((table) => table?.equals(found)) ? 'whole' : 'a mixed table';
  };
  const cut = (operations: readonly Operation[]): Exploration =>
    explore(operations, { before, sectorSize, count: STATES, seed: testSeed(SEED), judge });

  test('is the old one or the new one after a power cut at any moment', async () => {
    expect(known.every((table) => table !== undefined)).toBe(true);
    const found = cut(await record());
    expect(found.half.slice(0, 5), `of ${found.states} disks`).toEqual([]);
    // in each copy two sectors differ, so there are no others
    expect(found.states).toBe(7);
  });

  test('would be lost without the sync between the two copies', async () => {
    const operations = await record();
    const first = operations.find(({ kind }) => kind === 'sync');
    expect(cut(operations.filter((each) => each !== first)).half.length).toBeGreaterThan(0);
  });
});
