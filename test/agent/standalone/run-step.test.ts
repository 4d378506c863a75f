import { expect, test } from 'vitest';
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
