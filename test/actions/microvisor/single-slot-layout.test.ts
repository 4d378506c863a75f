import { describe, expect, it } from 'vitest';
import { planAddedPartitions } from '../../../actions/microvisor/single-slot-layout.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import type { PartitionEntry } from '../../../formats/partition-table/table.ts';
import { microvisorImage as image, part } from './image-fixture.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
let guid = 0;
const plan = (partitions: readonly PartitionEntry[] = image, lvmGigabytes = 0, sizeBytes = 32 * GIB) =>
  planAddedPartitions({
    sizeBytes,
    sectorBytes: 512,
    partitions,
    ramBytes: 16 * GIB,
    lvmGigabytes,
    newGuid: () => `${(++guid).toString(16).padStart(8, '0')}-2222-2222-2222-222222222222`,
  });

describe('what emt_partition adds', () => {
  it('is swap, a second root of 3 GB and a volume group, behind the grown state partition', () => {
    const { partitions, grown } = plan(image, 5);
    expect(partitions.map(({ number, partLabel }) => `${number} ${partLabel}`)).toEqual([
      ...['1 esp', '2 rootfs', '3 edge_persistent', '4 swap', '5 rootfs_b', '6 lvm'],
    ]);
    expect(partitions.slice(3).map(({ sizeBytes }) => sizeBytes / GIB)).toEqual([4, 3, 5]);
    expect(grown).toMatchObject({ number: 3, startBytes: 1536 * MIB });
    expect(() =>
      encodeGpt({
        diskGuid: 'aaaaaaaa-1111-1111-1111-111111111111',
        sectorBytes: 512,
        sizeBytes: 32 * GIB,
        partitions,
      }),
    ).not.toThrow();
  });

  it('planned again over itself changes nothing', () => {
    const once = plan(image, 5);
    expect(plan(once.partitions, 5)).toEqual(once);
  });

  it('does not fit a small disk, nor a disk without a root', () => {
    expect(() => plan(image, 0, 8 * GIB)).toThrowError(
      expect.objectContaining({ code: 'KND_DISK_TOO_SMALL' }),
    );
    expect(() => plan([part(1, 1, 10, 'data')])).toThrowError(
      expect.objectContaining({ code: 'KND_NOT_MICROVISOR' }),
    );
  });
});
