import { expect, test } from 'vitest';
import { waitFor } from '../../system/wait.ts';

test('a wait that is over says how long it took and for what', async () => {
  const waiting = waitFor(() => undefined, { name: 'the partitions of /dev/sda', timeoutMs: 0 });
  await expect(waiting).rejects.toMatchObject({
    code: 'KND_TIMEOUT',
    message: 'timed out after 0 s waiting for the partitions of /dev/sda',
  });
});

test('a wait ends with the first answer', async () => {
  const answers = [undefined, undefined, 'there'];
  const waiting = waitFor(() => answers.shift(), { name: 'an answer', timeoutMs: 10_000, intervalMs: 1 });
  expect(await waiting).toBe('there');
});
