import { describe, expect, it } from 'vitest';
import { planUbuntuLayout, type UbuntuLayoutRequest, UNFINISHED } from '../../../actions/ubuntu/layout.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const part = (number: number, start: number, size: number, partLabel?: string) => ({
  number,
  startBytes: start * MIB,
  sizeBytes: size * MIB,
  type: '0fc63daf-8483-4772-8e79-3d69d8477de4',
  partUuid: `${number.toString().padStart(8, '0')}-1111-1111-1111-111111111111`,
  ...(partLabel ? { partLabel } : {}),
});
/** Ubuntu 24.04's cloud image: the root is partition 1 and lies last. */
const cloudImage = [part(14, 1, 4), part(15, 5, 106), part(16, 111, 913), part(1, 1024, 2500)];
let guid = 0;
const request = (changes: Partial<UbuntuLayoutRequest> = {}): UbuntuLayoutRequest => ({
  sizeBytes: 240 * GIB,
  sectorBytes: 512,
  partitions: cloudImage,
  rootNumber: 1,
  rootGigabytes: 50,
  ramBytes: 16 * GIB,
  otherDisks: 0,
  lvmGigabytes: 0,
  newGuid: () => `${(++guid).toString(16).padStart(8, '0')}-2222-2222-2222-222222222222`,
  ...changes,
});

describe('the layout of a mutable node', () => {
  it('is a root of 50 GiB, swap, and the rest for data, with numbers that were free', () => {
    const layout = planUbuntuLayout(request());
    if (layout.kind !== 'split') throw new Error(layout.kind);
    expect(layout.partitions.map(({ number, partLabel }) => `${number} ${partLabel ?? ''}`)).toEqual([
      '1 ',
      '2 swap',
      '3 data_persistent',
      '14 ',
      '15 ',
      '16 ',
    ]);
    expect(layout.root.sizeBytes).toBe(50 * GIB);
    expect(layout.swap.sizeBytes).toBe(4 * GIB);
    expect(() =>
      encodeGpt({
        diskGuid: 'aaaaaaaa-1111-1111-1111-111111111111',
        sectorBytes: 512,
        sizeBytes: 240 * GIB,
        partitions: layout.partitions,
      }),
    ).not.toThrow();
  });

  it('has a volume group on a single disk only, and its gigabytes', () => {
    expect(planUbuntuLayout(request({ lvmGigabytes: 10 }))).toMatchObject({ lvm: { sizeBytes: 10 * GIB } });
    expect(planUbuntuLayout(request({ lvmGigabytes: 10, otherDisks: 1 }))).not.toHaveProperty('lvm');
  });

  it.each([
    ['a small disk', { sizeBytes: 40 * GIB }, 'too small'],
    ['a root in the middle', { rootNumber: 16 }, 'not the last'],
  ])('leaves %s alone', (_, changes, reason) => {
    expect(planUbuntuLayout(request(changes))).toEqual({
      kind: 'leave',
      reason: expect.stringContaining(reason),
    });
  });

  it('is done once, and a run that was killed goes on with the same GUIDs', () => {
    const first = planUbuntuLayout(request());
    if (first.kind !== 'split') throw new Error(first.kind);
    expect(planUbuntuLayout(request({ partitions: first.partitions }))).toEqual({ kind: 'done already' });
    const halfway = first.partitions.map((each) =>
      each.partLabel === 'data_persistent' ? { ...each, partLabel: UNFINISHED } : each,
    );
    const second = planUbuntuLayout(request({ partitions: halfway }));
    expect(second).toMatchObject({
      kind: 'split',
      data: { partUuid: first.data.partUuid, partLabel: 'data_persistent' },
    });
  });
});
