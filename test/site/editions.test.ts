import { expect, test } from 'vitest';
import { type KeptEdition, nextEdition } from '../../site/editions.ts';

const DAY = 86_400_000;
const at = (day: number) => new Date(Date.parse('2026-11-18T00:00:00Z') + day * DAY);
const next = (kept: KeptEdition | undefined, of: string, day: number) =>
  nextEdition(kept, { of, days: 90, now: at(day) });

test('the same contents keep their edition until half of its time is over', () => {
  const first = next(undefined, 'a', 0);
  expect(first).toEqual({ of: 'a', version: at(0).getTime() / 1000, expires: at(90).toISOString() });
  expect(next(first, 'a', 44)).toBe(first);
  expect(next(first, 'a', 45)).toEqual({
    of: 'a',
    version: at(45).getTime() / 1000,
    expires: at(135).toISOString(),
  });
});

test('other contents get a higher version, also when the clock was put back', () => {
  const first = next(undefined, 'a', 0);
  expect(next(first, 'b', 1).version).toBeGreaterThan(first.version);
  expect(next(first, 'b', -1000).version).toBe(first.version + 1);
});
