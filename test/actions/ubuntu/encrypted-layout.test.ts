import { describe, expect, it } from 'vitest';
import {
  begunLayout,
  type EncryptedUbuntuRequest,
  planEncryptedUbuntu,
} from '../../../actions/ubuntu/encrypted-layout.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../../formats/partition-table/partition-types.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

const part = (number: number, startMib: number, sizeMib: number, type: string = PARTITION_TYPES.linux) => ({
  number,
  startBytes: startMib * MIB,
  sizeBytes: sizeMib * MIB,
  type,
  partUuid: `${number.toString().padStart(8, '0')}-1111-1111-1111-111111111111`,
});
const ubuntu2204 = [part(14, 1, 4), part(15, 5, 106, PARTITION_TYPES.esp), part(1, 111, 2048)];
const ubuntu2404 = [
  part(14, 1, 4),
  part(15, 5, 106, PARTITION_TYPES.esp),
  part(16, 111, 913),
  part(1, 1024, 2560),
];

function plan(changes: Partial<EncryptedUbuntuRequest> = {}) {
  let guid = 0;
  return planEncryptedUbuntu({
    sizeBytes: 128 * GIB,
    sectorBytes: 512,
    partitions: ubuntu2204,
    hasBoot: false,
    ramBytes: 16 * GIB,
    otherDisks: 0,
    lvmGigabytes: 0,
    minimumRootGigabytes: 25,
    newGuid: () => `${(++guid).toString(16).padStart(8, '0')}-2222-2222-2222-222222222222`,
    ...changes,
  });
}
const names = ({ partitions }: ReturnType<typeof plan>) =>
  partitions.map(({ number, partLabel }) => `${number} ${partLabel ?? '-'}`);
const gib = ({ sizeBytes }: { sizeBytes: number }) => Math.round(sizeBytes / GIB);

describe('the layout of an encrypted mutable system (docs/background/emf.md#disk-layouts)', () => {
  it('22.04 gets a partition for /boot', () => {
    const layout = plan({ lvmGigabytes: 10 });
    expect(names(layout)).toEqual([
      '1 rootfs',
      '2 boot',
      '3 swap',
      '4 trusted_compute',
      '5 reserved',
      '6 persistent',
      '7 lvm',
      '14 -',
      '15 -',
    ]);
    expect(layout.boot && gib(layout.boot)).toBe(5);
    expect(gib(layout.root)).toBe(50);
    expect(gib(layout.swap)).toBe(4);
    expect(gib(layout.reserved)).toBe(3);
    expect(layout.lvm && gib(layout.lvm)).toBe(10);
  });

  it('24.04 keeps its own', () => {
    const layout = plan({ partitions: ubuntu2404, hasBoot: true, sizeBytes: 100 * GIB });
    expect(names(layout)).toEqual([
      '1 rootfs',
      '2 swap',
      '3 tep',
      '4 reserved',
      '5 persistent',
      '14 -',
      '15 -',
      '16 -',
    ]);
    expect(layout.boot).toBeUndefined();
    expect(gib(layout.reserved)).toBe(5);
  });

  it('nothing overlaps, everything ends before the backup table, and the root stays where it is', () => {
    for (const sizeGib of [60, 64, 100, 101, 120, 500, 4000]) {
      for (const otherDisks of [0, 1]) {
        const layout = plan({ sizeBytes: sizeGib * GIB, otherDisks, lvmGigabytes: 3 });
        expect(() =>
          encodeGpt({
            diskGuid: 'aaaaaaaa-1111-1111-1111-111111111111',
            sectorBytes: 512,
            sizeBytes: sizeGib * GIB,
            partitions: layout.partitions,
          }),
        ).not.toThrow();
        expect(layout.root.startBytes).toBe(111 * MIB);
        expect(layout.persistent.sizeBytes).toBeGreaterThanOrEqual(GIB);
        expect(layout.lvm === undefined).toBe(otherDisks === 1);
      }
    }
  });

  it('a smaller disk gets a smaller root, down to MINIMUM_ROOTFS_SIZE', () => {
    const root = plan({ sizeBytes: 64 * GIB }).root;
    expect(gib(root)).toBeLessThan(50);
    expect(gib(root)).toBeGreaterThanOrEqual(25);
    expect(() => plan({ sizeBytes: 40 * GIB })).toThrow(
      expect.objectContaining({ code: 'KND_DISK_TOO_SMALL' }),
    );
    expect(gib(plan({ sizeBytes: 40 * GIB, minimumRootGigabytes: 8 }).root)).toBeGreaterThanOrEqual(8);
  });

  it('a root larger than EMF’s “reserved” still fits through it', () => {
    const partitions = [part(15, 5, 106, PARTITION_TYPES.esp), part(1, 111, 7 * 1024)];
    expect(gib(plan({ partitions }).reserved)).toBeGreaterThanOrEqual(7);
  });

  it.each([
    ['a partition behind the root', [part(1, 111, 2048), part(15, 4000, 100, PARTITION_TYPES.esp)]],
    ['a number that is taken', [part(3, 5, 106, PARTITION_TYPES.esp), part(1, 111, 2048)]],
    ['no partition 1', [part(15, 5, 106, PARTITION_TYPES.esp)]],
  ])('%s is refused', (_, partitions) => {
    expect(() => plan({ partitions })).toThrow(expect.objectContaining({ code: 'KND_PARTITION_LAYOUT' }));
  });

  it('a run after a kill finds the layout of the first', () => {
    const layout = plan({ lvmGigabytes: 1 });
    expect(begunLayout(layout.partitions)).toEqual(layout);
    expect(begunLayout(ubuntu2204)).toBeUndefined();
    expect(begunLayout(ubuntu2404)).toBeUndefined();
  });
});
