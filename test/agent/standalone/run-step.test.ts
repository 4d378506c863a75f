import { expect, test } from 'vitest';
import type { StartChildOptions } from '../../../actions/process/start-child.ts';
import { runStep } from '../../../agent/standalone/run-step.ts';
import { toErrorReport } from '../../../protocol/error.ts';

test('a step that failed ends the installation with its own code and its causes', async () => {
  const error = {
    code: 'KND_DISK_IO',
    message: '/dev/sda cannot be written',
    hint: 'Change the disk.',
    retryable: false,
    causes: ['write failed', 'EIO: i/o error'],
  };
  const failing = runStep(
    {
      startChild: async () => ({ status: 'failed', error, durationMs: 1 }),
      say: () => {},
      signal: new AbortController().signal,
    },
    'image2disk',
    {},
  );
  expect(toErrorReport(await failing.catch((thrown: unknown) => thrown))).toEqual(error);
});

test('a dry run shows the plan once; a run says what came of it', async () => {
  const summary = 'would write os.raw';
  const said: string[] = [];
  const context = {
    startChild: async (_image: string, _variables: Record<string, string>, options?: StartChildOptions) => {
      options?.onEvent?.({
        type: 'plan',
        hash: 'h',
        summary: ['write os.raw: destroys everything on /dev/sda'],
        plan: {},
      });
      return { status: 'success' as const, summary, durationMs: 1 };
    },
    say: (text: string) => void said.push(text),
    signal: new AbortController().signal,
  };
  await runStep(context, 'image2disk', {}, { isDryRun: true });
  expect(said).toEqual(['write os.raw: destroys everything on /dev/sda']);
  await runStep(context, 'image2disk', {});
  expect(said.at(-1)).toBe('image2disk: would write os.raw');
});
