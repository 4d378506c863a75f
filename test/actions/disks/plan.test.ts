import { describe, expect, it } from 'vitest';
import {
  announcePlan,
  checkPlanHolds,
  describePlan,
  hashPlan,
  planFor,
} from '../../../actions/disks/plan.ts';
import type { ActionEvent } from '../../../protocol/action-events.ts';
import { disk } from './disk-fixture.ts';

const full = disk({
  name: 'sda',
  serial: 'S1',
  model: 'Model',
  partitionTable: 'gpt',
  partitions: [
    {
      number: 1,
      path: '/dev/sda1',
      startBytes: 1 << 20,
      sizeBytes: 1e9,
      partLabel: 'esp',
      signatures: [{ type: 'vfat' }],
    },
    {
      number: 2,
      path: '/dev/sda2',
      startBytes: 2e9,
      sizeBytes: 4e9,
      signatures: [{ type: 'crypto_LUKS', label: 'data' }],
    },
  ],
});
const empty = disk({ name: 'sdb', serial: 'S2' });
const announce = (disks: (typeof full)[], policy: 'never' | 'non-empty' | 'always', given?: string) => {
  const events: ActionEvent[] = [];
  announcePlan({ emit: (event) => events.push(event) }, planFor('write', disks, []), { policy, given });
  return events;
};

describe('a plan', () => {
  it('says what will be destroyed and what is left alone', () => {
    const text = describePlan(planFor('write', [full], [{ disk: empty, reason: 'not the target' }])).join(
      '\n',
    );
    expect(text).toContain('destroys everything on /dev/sda (Model, serial S1, 465.7 GiB, sata)');
    expect(text).toContain('gpt table; /dev/sda1 “esp” vfat 953.7 MiB; /dev/sda2 crypto_LUKS "data" 3.7 GiB');
    expect(text).toContain('leaves alone /dev/sdb: not the target');
    expect(describePlan(planFor('write', [empty], [])).at(1)).toBe(
      '  now on it: no partitions or file systems found',
    );
  });

  it('has the same hash when the kernel renames the disk, and another for other contents', () => {
    const renamed = {
      ...full,
      name: 'sdq',
      path: '/dev/sdq',
      partitions: full.partitions.map((part) => ({ ...part, path: part.path.replace('sda', 'sdq') })),
    };
    const emptied = { ...full, partitions: [] };
    const hash = hashPlan(planFor('write', [full], []));
    expect(hashPlan(planFor('write', [renamed], []))).toBe(hash);
    expect(hashPlan(planFor('write', [emptied], []))).not.toBe(hash);
    expect(hashPlan(planFor('erase', [full], []))).not.toBe(hash);
  });

  it('goes on without being asked by default, and where the disk is empty', () => {
    expect(announce([full], 'never')).toHaveLength(1);
    expect(announce([empty], 'non-empty')).toHaveLength(1);
  });

  it('waits for consent to this very plan where the site wants it', () => {
    const hash = hashPlan(planFor('write', [full], []));
    expect(() => announce([full], 'non-empty')).toThrowError(
      expect.objectContaining({ code: 'KND_CONSENT_REQUIRED', hint: expect.stringContaining(hash) }),
    );
    expect(() => announce([full], 'always', 'another hash')).toThrow();
    expect(announce([full], 'non-empty', hash)).toHaveLength(1);
  });

  it.each([
    ['another serial', [{ ...full, serial: 'OTHER' }]],
    ['another size', [{ ...full, sizeBytes: 1 }]],
    ['another WWN', [{ ...full, wwn: 'naa.1' }]],
    ['gone', []],
  ])('does not hold for a disk with %s', (_, now) => {
    expect(() => checkPlanHolds(planFor('write', [full], []), now)).toThrowError(
      expect.objectContaining({ code: 'KND_PLAN_STALE' }),
    );
  });

  it('holds for the same disk', () => {
    expect(() => checkPlanHolds(planFor('write', [full], []), [empty, full])).not.toThrow();
  });
});

it('a disk that cannot be read is asked about like one that is not empty', () => {
  const unreadable = disk({ name: 'sda', signatures: [{ type: 'unreadable' }] });
  const plan = planFor('write', [unreadable], []);
  expect(() =>
    announcePlan({ emit: () => {} }, plan, { policy: 'non-empty', given: undefined }),
  ).toThrowError(expect.objectContaining({ code: 'KND_CONSENT_REQUIRED' }));
});
