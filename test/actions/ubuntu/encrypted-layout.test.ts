import { describe, expect, it } from 'vitest';
import {
  begunLayout,
  type EncryptedUbuntuRequest,
  planEncryptedUbuntu,
} from '../../../actions/ubuntu/encrypted-layout.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const ESP = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
const LINUX = '0fc63daf-8483-4772-8e79-3d69d8477de4';

const part = (number: number, startMib: number, sizeMib: number, type = LINUX) => ({
  number,
  startBytes: startMib * MIB,
  sizeBytes: sizeMib * MIB,
  type,
  partUuid: `guid-${number}`,
});
const ubuntu2204 = [part(14, 1, 4), part(15, 5, 106, ESP), part(1, 111, 2048)];
const ubuntu2404 = [part(14, 1, 4), part(15, 5, 106, ESP), part(16, 111, 913), part(1, 1024, 2560)];

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
    newGuid: () => `new-${guid++}`,
    ...changes,
  });
}
const names = ({ partitions }: ReturnType<typeof plan>) =>
  partitions.map(({ number, partLabel }) => `${number} ${partLabel ?? '-'}`);
const gib = ({ sizeBytes }: { sizeBytes: number }) => Math.round(sizeBytes / GIB);

describe('the layout of an encrypted mutable system (emf.md 4.8)', () => {
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
        const sorted = layout.partitions.toSorted((a, b) => a.startBytes - b.startBytes);
        for (const [index, { startBytes }] of sorted.slice(1).entries()) {
          const before = sorted[index];
          expect((before?.startBytes ?? 0) + (before?.sizeBytes ?? 0)).toBeLessThanOrEqual(startBytes);
        }
        const last = sorted.at(-1);
        expect((last?.startBytes ?? 0) + (last?.sizeBytes ?? 0)).toBeLessThanOrEqual(
          sizeGib * GIB - 33 * 512,
        );
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

  it('a root larger than EMF’s «reserved» still fits through it', () => {
    const partitions = [part(15, 5, 106, ESP), part(1, 111, 7 * 1024)];
    expect(gib(plan({ partitions }).reserved)).toBeGreaterThanOrEqual(7);
  });

  it.each([
    ['a partition behind the root', [part(1, 111, 2048), part(15, 4000, 100, ESP)]],
    ['a number that is taken', [part(3, 5, 106, ESP), part(1, 111, 2048)]],
    ['no partition 1', [part(15, 5, 106, ESP)]],
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
