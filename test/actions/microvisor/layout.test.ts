import { describe, expect, it } from 'vitest';
import { type LayoutRequest, planMicrovisorLayout } from '../../../actions/microvisor/layout.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import { microvisorImage as image } from './image-fixture.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
let guid = 0;
const plan = (changes: Partial<LayoutRequest> = {}) =>
  planMicrovisorLayout({
    sizeBytes: 240 * GIB,
    sectorBytes: 512,
    partitions: image,
    ramBytes: 16 * GIB,
    otherDisks: 0,
    lvmGigabytes: 0,
    newGuid: () => `${(++guid).toString(16).padStart(8, '0')}-2222-2222-2222-222222222222`,
    ...changes,
  });
const sizes = (changes: Partial<LayoutRequest> = {}) =>
  Object.fromEntries(
    plan(changes).partitions.map(({ number, partLabel, sizeBytes }) => [
      `${number} ${partLabel}`,
      sizeBytes / MIB,
    ]),
  );

describe('the layout with two slots', () => {
  it('has the numbers, names and sizes the boot module expects', () => {
    expect(sizes()).toMatchObject({
      '1 esp': 299,
      '2 rootfs': 4096,
      '4 hashmap_a': 100,
      '5 hashmap_b': 100,
      '6 rootfs_b': 4096,
      '7 roothash': 50,
      '8 swap': 4096, // √16 GiB
      '9 reserved': 5120,
    });
    expect(sizes()['3 edge_persistent']).toBeGreaterThan(200 * 1024);
  });

  it('gives a volume group its gigabytes on a single disk only', () => {
    expect(sizes({ lvmGigabytes: 20 })['10 lvm']).toBe(20 * 1024);
    expect(sizes({ lvmGigabytes: 20, otherDisks: 1 })['10 lvm']).toBeUndefined();
  });

  it('takes half the memory for swap where data has a disk of its own', () => {
    expect(sizes({ otherDisks: 1 })['8 swap']).toBe(8 * 1024);
  });

  it('takes the smaller scheme on a small disk', () => {
    expect(sizes({ sizeBytes: 64 * GIB })).toMatchObject({ '8 swap': 4096, '9 reserved': 3072 });
  });

  it.each([
    [32 * GIB, 512],
    [32 * GIB, 4096],
    [112_640 * MIB, 512],
    [2_000_398_934_016, 512],
  ])('on a disk of %i bytes with sectors of %i is a table without overlaps', (sizeBytes, sectorBytes) => {
    const { partitions } = plan({ sizeBytes, sectorBytes });
    expect(() =>
      encodeGpt({ diskGuid: 'aaaaaaaa-1111-1111-1111-111111111111', sectorBytes, sizeBytes, partitions }),
    ).not.toThrow();
  });

  it('with encryption has a partition for trusted compute, and swap by the memory even on a small disk', () => {
    const layout = sizes({ sizeBytes: 64 * GIB, isEncrypted: true, lvmGigabytes: 5 });
    expect(layout).toMatchObject({ '9 tep': 14_336, '10 reserved': 5120, '11 lvm': 5120 });
    expect(layout['8 swap']).toBe(4096);
  });

  it('with encryption leaves room for the header before a root that fills its slot', () => {
    const big = image.map((part) =>
      part.number === 2
        ? { ...part, sizeBytes: 4500 * MIB }
        : part.number === 3
          ? { ...part, startBytes: part.startBytes + 4500 * MIB }
          : part,
    );
    expect(sizes({ isEncrypted: true, partitions: big })['2 rootfs']).toBe(4516);
  });

  it('uses a 2 TB disk to its end, not to the gigabyte that fdisk prints', () => {
    const { partitions } = plan({ sizeBytes: 2_000_398_934_016 });
    const end = Math.max(...partitions.map((each) => each.startBytes + each.sizeBytes));
    expect(2_000_398_934_016 - end).toBeLessThan(2 * MIB);
  });

  it.each([
    [{ sizeBytes: 16 * GIB }, 'KND_DISK_TOO_SMALL'],
    [{ lvmGigabytes: 400 }, 'KND_DISK_TOO_SMALL'],
    [{ partitions: image.slice(0, 2) }, 'KND_NOT_MICROVISOR'],
  ])('%j is refused with %s', (changes, code) => {
    expect(() => plan(changes)).toThrowError(expect.objectContaining({ code }));
  });
});
