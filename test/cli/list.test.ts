import { expect, test } from 'vitest';
import { progressLine } from '../../cli/node/list.ts';
import { FLOOR_ROW } from '../orchestrator-stub/floor/floor-row.ts';

const NOW_MS = Date.parse('2026-11-18T08:00:20.000Z');

test('a running node shows percent, time left and rate', () => {
  const row = { ...FLOOR_ROW, percent: 42, secondsLeft: 30, bytesPerSecond: 2 ** 20 * 50 };
  expect(progressLine(row, NOW_MS)).toBe('writing the image 42 % · 30 s left · 50 MiB/s');
  expect(progressLine(FLOOR_ROW, NOW_MS)).toBeUndefined();
});

test('and for how long it has said nothing', () => {
  expect(progressLine({ ...FLOOR_ROW, percent: 42 }, NOW_MS + 60_000)).toBe(
    'writing the image 42 % · silent for 70 s',
  );
  expect(progressLine({ ...FLOOR_ROW, status: 'silent' }, NOW_MS + 600_000)).toBe('silent for 610 s');
});
