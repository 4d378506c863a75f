import { expect, it } from 'vitest';
import type { WorkflowAnswer } from '../../console/api/answers.ts';
import { timelineOf } from '../../console/node/timeline.ts';

const at = (seconds: number) =>
  new Date(Date.parse('2026-11-18T09:00:00.000Z') + seconds * 1000).toISOString();
const action = (name: string, state: string, from: number | null, to: number | null) => ({
  id: name,
  name,
  state,
  attempt: 1,
  startedAt: from === null ? null : at(from),
  stoppedAt: to === null ? null : at(to),
  seconds: 0,
  message: state === 'FAILED' ? 'it broke' : '',
});
const workflow = (facts: Partial<WorkflowAnswer>): WorkflowAnswer => ({
  id: 'workflow-1',
  template: 'pos',
  generation: 1,
  state: 'RUNNING',
  isPaused: false,
  message: '',
  createdAt: at(0),
  startedAt: at(10),
  finishedAt: null,
  actions: [],
  ...facts,
});

it('shows each action from its beginning to its end, the running one up to now', () => {
  const { spans, totalSeconds } = timelineOf(
    workflow({
      actions: [
        action('erase', 'SUCCESS', 10, 20),
        action('write', 'RUNNING', 20, null),
        action('boot', 'PENDING', null, null),
      ],
    }),
    null,
    Date.parse(at(40)),
  );
  expect(totalSeconds).toBe(40);
  expect(spans).toMatchObject([
    { name: 'waiting for the machine', start: 0, width: 0.25, seconds: 10, state: 'done' },
    { name: 'erase', start: 0.25, width: 0.25, seconds: 10, state: 'done' },
    { name: 'write', start: 0.5, width: 0.5, seconds: 20, state: 'running' },
    { name: 'boot', width: 0, seconds: null, state: 'pending' },
  ]);
});

it('ends with the failure, and says it', () => {
  const failed = workflow({
    state: 'FAILED',
    finishedAt: at(30),
    actions: [action('write', 'FAILED', 10, 30)],
  });
  const { spans, totalSeconds } = timelineOf(failed, null, Date.parse(at(900)));
  expect(totalSeconds).toBe(30);
  expect(spans.at(-1)).toMatchObject({ state: 'failed', seconds: 20, message: 'it broke' });
});

it('goes on to the report of the installed system', () => {
  const written = workflow({
    state: 'SUCCESS',
    finishedAt: at(30),
    actions: [action('write', 'SUCCESS', 10, 30)],
  });
  expect(timelineOf(written, null, Date.parse(at(60))).spans.at(-1)).toMatchObject({
    name: 'first boot',
    state: 'running',
    seconds: 30,
  });
  expect(timelineOf(written, at(50), Date.parse(at(900)))).toMatchObject({ totalSeconds: 50 });
});

it('of a workflow by hand has no first boot', () => {
  const byHand = workflow({ generation: 0, state: 'SUCCESS', finishedAt: at(30) });
  expect(timelineOf(byHand, null, Date.parse(at(60))).spans).toHaveLength(1);
});
