import { expect, test } from 'vitest';
import { createInstance, type Instance } from '../../../orchestrator-stub/nodes/instance.ts';
import { decideShift } from '../../../orchestrator-stub/record/shift-figures.ts';
import type { ActionState, StoredWorkflow } from '../../../orchestrator-stub/workflow/workflow.ts';
import { toHostId } from '../../../protocol/ids.ts';

const WINDOW = { since: '2026-11-18T06:00:00.000Z', until: '2026-11-18T10:00:00.000Z' };
const at = (clock: string) => `2026-11-18T${clock}:00.000Z`;

function install(
  host: string,
  finished: string,
  { state = 'SUCCESS' as ActionState, attempt = 1, seconds = 60 } = {},
): StoredWorkflow {
  const action = { state, attempt, startedAt: null, stoppedAt: null, seconds, message: '' };
  return {
    definition: {
      id: `workflow-${host}`,
      hostId: toHostId(host),
      template: 't',
      generation: 1,
      globalTimeout: 0,
      createdAt: at('05:00'),
      actions: [
        {
          id: 'a',
          taskId: 't',
          taskName: 't',
          name: 'write',
          workerId: 'w',
          image: 'i',
          timeout: 0,
          command: [],
          volumes: [],
          environment: [],
          pid: '',
          network: '',
        },
      ],
    },
    progress: {
      state,
      isPaused: false,
      message: '',
      startedAt: null,
      finishedAt: at(finished),
      actions: [action],
    },
  };
}

function instance(host: string, firstBoot: string | null, fallbacks = 0): Instance {
  const made = createInstance({
    id: `inst-${host}`,
    host: { id: toHostId(host) } as Parameters<typeof createInstance>[0]['host'],
    profile: 'edge',
    keys: { firstBootKey: 'a', escrowKey: 'b', neighborsKey: 'c' },
    now: new Date(at('09:30')),
  });
  return { ...made, firstBootAt: firstBoot && at(firstBoot), fallbacks };
}

test('an empty shift has no yield and no slowest stage', () => {
  expect(decideShift([], [], WINDOW)).toEqual({
    ...WINDOW,
    done: 0,
    failed: 0,
    firstPass: 0,
    firstPassYield: null,
    perHour: 0,
    slowestStage: null,
  });
});

test('a node counts once, and only one without a stumble is first pass', () => {
  const figures = decideShift(
    [
      install('host-1', '07:00', { seconds: 100 }),
      install('host-2', '07:00', { attempt: 2, seconds: 300 }),
      install('host-3', '07:00', { state: 'FAILED' }),
      install('host-3', '08:00', { seconds: 200 }),
      install('host-4', '08:00', { state: 'FAILED' }),
      install('host-5', '08:00'),
    ],
    [
      instance('host-1', '07:02'),
      instance('host-2', '07:02'),
      instance('host-3', '08:02'),
      instance('host-4', null),
      instance('host-5', null, 1),
    ],
    WINDOW,
  );
  expect(figures).toMatchObject({ done: 3, failed: 2, firstPass: 1, firstPassYield: 0.2, perHour: 0.75 });
});

test('the slowest stage is that with the largest median, the first boot included', () => {
  const runs = ['host-1', 'host-2', 'host-3'].map((host, index) =>
    install(host, '07:00', { seconds: [100, 110, 900][index] ?? 0 }),
  );
  const booted = ['host-1', 'host-2', 'host-3'].map((host) => instance(host, '07:02'));
  expect(decideShift(runs, booted, WINDOW).slowestStage).toEqual({ stage: 'first-boot', medianSeconds: 120 });
  expect(decideShift(runs, [], WINDOW).slowestStage).toEqual({ stage: 'write', medianSeconds: 110 });
});

test('what ended before the shift or after it is not counted', () => {
  const figures = decideShift(
    [install('host-1', '05:59'), install('host-2', '10:01', { state: 'FAILED' })],
    [instance('host-1', '05:59')],
    WINDOW,
  );
  expect(figures).toMatchObject({ done: 0, failed: 0 });
});
