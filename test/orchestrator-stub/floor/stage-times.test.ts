import { expect, test } from 'vitest';
import { StageTimes, usualSecondsLeft } from '../../../orchestrator-stub/floor/stage-times.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { testSeal } from '../seal/test-seal.ts';
import { FLOOR_ROW } from './floor-row.ts';

test('the usual time is the median and the p95 of the last hundred runs, each a value that was measured', async () => {
  const store = new SqliteStore(':memory:', {
    onDefect: (thrown) => {
      throw thrown;
    },
  });
  const times = new StageTimes(store, testSeal());
  for (let seconds = 1; seconds <= 120; seconds += 1) await times.addFirstBoot('edge', seconds);
  expect(await times.list()).toEqual([
    { profile: 'edge', stage: 'first-boot', medianSeconds: 70, p95Seconds: 115, runs: 100 },
  ]);
  await store.close();
});

const stage = (name: string, medianSeconds: number) => ({
  profile: 'edge',
  stage: name,
  medianSeconds,
  p95Seconds: medianSeconds,
  runs: 3,
});
const TIMES = [stage('write', 60), stage('reboot', 5), stage('first-boot', 90)];
const NOW_MS = Date.parse(FLOOR_ROW.since) + 20_000;

test.each([
  ['what its stage usually takes, and all that follow', { stage: 'write' }, 40 + 5 + 90],
  ['what the node says of its stage', { stage: 'write', secondsLeft: 100 }, 100 + 5 + 90],
  ['a stage that is late is over any moment', { stage: 'reboot' }, 90],
  ['one that has not begun', { stage: null }, 60 + 5 + 90],
  ['nothing is known of a stage that never ran', { stage: 'kernel-upgrade' }, undefined],
  ['nothing is known of another profile', { stage: 'write', profile: 'other' }, undefined],
])('time left: %s', (_, fields, expected) => {
  expect(usualSecondsLeft({ ...FLOOR_ROW, ...fields }, TIMES, NOW_MS)).toBe(expected);
});
