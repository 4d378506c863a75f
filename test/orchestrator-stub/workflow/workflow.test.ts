import { expect, test } from 'vitest';
import { announcePlan, planFor } from '../../../actions/disks/plan.ts';
import { provisioningStatus } from '../../../orchestrator-stub/provisioning/status-text.ts';
import {
  applyReport,
  applyTimeouts,
  approve,
  cancel,
  currentIndex,
  environmentOf,
  isTerminal,
  newProgress,
  nextDeadline,
  planToApprove,
  retry,
  type WorkflowDefinition,
  type WorkflowProgress,
} from '../../../orchestrator-stub/workflow/workflow.ts';
import { toErrorReport } from '../../../protocol/error.ts';
import { encodeFailure } from '../../../protocol/failure-text.ts';
import { toHostId } from '../../../protocol/ids.ts';
import { disk } from '../../actions/disks/disk-fixture.ts';
import fc from '../../seeds/fast-check.ts';

const T0 = Date.parse('2026-11-16T03:00:00Z');
const at = (seconds: number) => new Date(T0 + seconds * 1000);
const GRACE_MS = 60_000;

function definition(
  names: string[] = ['erase-non-removable-disk', 'stream-os-image', 'reboot'],
  timeout = 100,
): WorkflowDefinition {
  return {
    id: 'w',
    hostId: toHostId('h'),
    template: 't',
    generation: 1,
    globalTimeout: 1000,
    createdAt: at(0).toISOString(),
    actions: names.map((name) => ({
      id: name,
      taskId: 'task',
      taskName: 'task',
      name,
      workerId: 'mac',
      image: 'i',
      timeout,
      command: [],
      volumes: [],
      environment: [],
      pid: '',
      network: '',
    })),
  };
}

const report = (
  progress: WorkflowProgress,
  state: 'RUNNING' | 'SUCCESS' | 'FAILED' | 'TIMEOUT',
  seconds: number,
  message = '',
) => applyReport(progress, { index: currentIndex(progress), state, message }, at(seconds));

test('runs action by action to SUCCESS and measures each', () => {
  let progress = newProgress(definition());
  for (const step of [0, 1, 2]) {
    progress = report(progress, 'RUNNING', step * 10);
    expect(progress.state).toBe('RUNNING');
    progress = report(progress, 'SUCCESS', step * 10 + 7);
    expect(progress.actions[step]?.seconds).toBe(7);
  }
  expect(progress).toMatchObject({
    state: 'SUCCESS',
    startedAt: at(0).toISOString(),
    finishedAt: at(27).toISOString(),
  });
});

test('a repeated RUNNING keeps the start and carries the newest word', () => {
  const once = report(newProgress(definition()), 'RUNNING', 0, 'Started execution');
  const twice = report(once, 'RUNNING', 30, 'writing image 40 %');
  expect(twice.actions[0]).toMatchObject({ startedAt: at(0).toISOString(), message: 'writing image 40 %' });
});

test('a worker that skips RUNNING is still measured and accepted', () => {
  const progress = report(newProgress(definition()), 'SUCCESS', 5);
  expect(currentIndex(progress)).toBe(1);
  expect(progress.actions[0]).toMatchObject({ state: 'SUCCESS', seconds: 0 });
});

test('an action that overruns ends as TIMEOUT after the grace, not before', () => {
  const running = report(newProgress(definition()), 'RUNNING', 0);
  expect(nextDeadline(definition(), running, GRACE_MS)).toBe(at(160).getTime());
  expect(applyTimeouts(definition(), running, at(159), GRACE_MS)).toBe(running);
  const ended = applyTimeouts(definition(), running, at(160), GRACE_MS);
  expect(ended).toMatchObject({ state: 'TIMEOUT', message: 'Action timed out' });
  expect(ended.actions[0]?.state).toBe('TIMEOUT');
});

test('the global timeout counts from the first start, whatever runs', () => {
  const slow = definition(undefined, 0);
  const running = report(report(newProgress(slow), 'RUNNING', 0), 'SUCCESS', 5);
  expect(applyTimeouts(slow, running, at(999), GRACE_MS)).toBe(running);
  expect(applyTimeouts(slow, running, at(1000), GRACE_MS)).toMatchObject({
    state: 'TIMEOUT',
    message: 'Workflow timed out',
  });
});

test('retry begins at the failed action and keeps what is done', () => {
  const failed = report(report(newProgress(definition()), 'SUCCESS', 5), 'FAILED', 9, 'no space');
  const again = retry(failed);
  expect(again.state).toBe('RUNNING');
  expect(again.actions.map(({ state, attempt }) => [state, attempt])).toEqual([
    ['SUCCESS', 1],
    ['PENDING', 2],
    ['PENDING', 1],
  ]);
});

/** What an agent reports whose site wants to be asked. */
function refusalFor(names: string[]): { hash: string; message: string } {
  let hash = '';
  const emit = (event: { type: string; hash?: string }) => {
    hash = event.hash ?? '';
  };
  try {
    const disks = names.map((name) => disk({ name, serial: name, partitionTable: 'gpt' }));
    announcePlan({ emit }, planFor('erase (auto)', disks, []), { policy: 'non-empty', given: undefined });
  } catch (thrown) {
    return { hash, message: encodeFailure(toErrorReport(thrown), hash) };
  }
  throw new Error('nobody asked');
}

test('consent: the plan an agent asks about is found in what it reports, and goes with the next attempt only', () => {
  const { hash, message } = refusalFor(Array.from({ length: 60 }, (_, index) => `sd${index}`));
  expect(message).toContain('destroys everything on /dev/sd0 ');
  const asking = report(newProgress(definition()), 'FAILED', 1, message);
  expect(planToApprove(asking)).toBe(hash);
  expect(planToApprove(report(newProgress(definition()), 'FAILED', 1, 'KND_DISK_IO: x'))).toBeUndefined();
  expect(planToApprove(report(newProgress(definition()), 'RUNNING', 1, message))).toBeUndefined();

  const approved = approve(asking, hash);
  expect(approved.actions[0]).toMatchObject({ state: 'PENDING', attempt: 2, consent: hash });
  const own = { environment: ['KINDLING_CONSENT=old', 'Z=1'] };
  expect(environmentOf(own, approved.actions[0])).toEqual([`KINDLING_CONSENT=${hash}`, 'Z=1']);
  expect(environmentOf(own, approved.actions[1])).toEqual(own.environment);
  expect(retry(report(approved, 'FAILED', 3)).actions[0]?.consent).toBeUndefined();
});

test('EMF’s words, with the reason', () => {
  const fresh = newProgress(definition());
  expect(provisioningStatus(definition(), fresh).text).toBe(
    'Provisioning In Progress: 1/3: Erasing data from all non-removable disks',
  );
  const failed = report(report(fresh, 'SUCCESS', 1), 'FAILED', 2, 'KND_IMAGE_HASH: wrong hash');
  expect(provisioningStatus(definition(), failed)).toEqual({
    text: 'Provisioning Failed: 2/3: Streaming OS image failed: KND_IMAGE_HASH: wrong hash',
    indicator: 'ERROR',
  });
  const late = report(fresh, 'TIMEOUT', 2);
  expect(provisioningStatus(definition(), late).text).toBe(
    'Provisioning Failed: 1/3: Erasing data from all non-removable disks timeout',
  );
});

const step = fc.oneof(
  fc.constantFrom('RUNNING' as const, 'SUCCESS' as const, 'FAILED' as const, 'TIMEOUT' as const),
  fc.constantFrom('retry' as const, 'cancel' as const, 'clock' as const),
);

test('whatever happens in whatever order, the state stays consistent', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 40 }), (size, steps) => {
      const plan = definition(Array.from({ length: size }, (_unused, index) => `a${index}`));
      let progress = newProgress(plan);
      let seconds = 0;
      let furthest = 0;
      for (const each of steps) {
        seconds += 50;
        const before = progress;
        if (each === 'retry') {
          if (isTerminal(progress.state) && currentIndex(progress) < size) progress = retry(progress);
        } else if (each === 'cancel') {
          if (!isTerminal(progress.state)) progress = cancel(progress, 'x', at(seconds));
        } else if (each === 'clock') progress = applyTimeouts(plan, progress, at(seconds), 0);
        else if (!isTerminal(progress.state)) progress = report(progress, each, seconds);

        const index = currentIndex(progress);
        // What succeeded stays done, and nothing behind the current action has begun.
        expect(index).toBeGreaterThanOrEqual(furthest);
        furthest = index;
        expect(progress.actions.slice(0, index).every(({ state }) => state === 'SUCCESS')).toBe(true);
        expect(progress.actions.slice(index + 1).every(({ state }) => state === 'PENDING')).toBe(true);
        expect(progress.state === 'SUCCESS').toBe(index === size);
        expect(progress.finishedAt !== null).toBe(isTerminal(progress.state));
        expect(progress.actions).toHaveLength(before.actions.length);
      }
    }),
    { numRuns: 300 },
  );
});
