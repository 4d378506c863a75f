import { expect, test } from 'vitest';
import { showStatus } from '../../../agent/console/show-status.ts';
import type { View } from '../../../agent/console/view.ts';

function recordingView() {
  const shown: string[] = [];
  const view: View = {
    line: (_stage, text) => shown.push(text),
    reached: () => {},
    notice: () => {},
    waiting: (_stage, what) => {
      shown.push(`begin ${what}`);
      return () => shown.push(`end ${what}`);
    },
    waits: () => [],
  };
  return { view, shown };
}

test('a wait is shown once however often it is repeated, and ends with what follows or with the agent', () => {
  const { view, shown } = recordingView();
  const stop = new AbortController();
  const show = showStatus(view, stop.signal, () => 0);
  show({ text: 'waiting for a workflow', waitingFor: 'a workflow' });
  show({ text: 'waiting for a workflow since 3 s', waitingFor: 'a workflow' });
  show({ text: 'write: 3 %' });
  show({ text: 'waiting for the server', waitingFor: 'the server' });
  stop.abort();
  expect(shown).toEqual(['begin a workflow', 'end a workflow', 'begin the server', 'end the server']);
});

test('progress is a line now and then', () => {
  const { view, shown } = recordingView();
  let now = 0;
  const show = showStatus(view, new AbortController().signal, () => now);
  for (; now <= 25_000; now += 1000) show({ text: `write: ${now / 1000} %` });
  expect(shown).toEqual(['write: 10 %', 'write: 20 %']);
});
