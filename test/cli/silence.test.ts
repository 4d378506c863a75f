import { expect, test } from 'vitest';
import { runningLine } from '../../cli/node/print.ts';
import { SilenceWatch } from '../../cli/node/silence.ts';
import { nodeView } from '../../orchestrator-stub/http/api/node-view.ts';
import { newHost } from '../../orchestrator-stub/nodes/registration.ts';
import { toHostId } from '../../protocol/ids.ts';

test('a node that goes silent in its workflow is told of every half minute, until it speaks or is done', () => {
  const silences = new SilenceWatch();
  silences.heard('host-1', true, 0);
  expect(silences.due(29_000)).toEqual([]);
  expect(silences.due(40_000)).toEqual([expect.stringContaining('host-1 silent for 40 s')]);
  expect(silences.due(50_000)).toEqual([]);
  expect(silences.due(70_000)).toEqual([expect.stringContaining('silent for 70 s')]);
  silences.heard('host-1', true, 71_000);
  expect(silences.due(100_000)).toEqual([]);
  silences.heard('host-1', false, 100_000);
  expect(silences.due(900_000)).toEqual([]);
});

const node = nodeView(newHost(toHostId('host-1'), 'project', new Date(0)), undefined, undefined);
const workflow = {
  id: 'w',
  state: 'RUNNING',
  action: 'stream-os-image',
  index: 1,
  total: 12,
  message: 'writing the image 42 % · 30 s left · rate 50 MB/s',
  heardAt: new Date(0).toISOString(),
};

test('a running node shows percent, rate and time left, and for how long it has said nothing', () => {
  expect(runningLine({ ...node, workflow }, 5000)).toBe(workflow.message);
  expect(runningLine({ ...node, workflow }, 40_000)).toBe(`${workflow.message} · silent for 40 s`);
  expect(runningLine({ ...node, workflow: { ...workflow, state: 'SUCCESS' } }, 40_000)).toBeUndefined();
  expect(runningLine(node)).toBeUndefined();
});
