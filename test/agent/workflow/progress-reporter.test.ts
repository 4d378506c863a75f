import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ProgressReporter } from '../../../agent/workflow/progress-reporter.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('progress that is reported', () => {
  it('is a text at most every five seconds, and only when it differs', async () => {
    const { sent, progress } = reporter();
    for (const percent of [1, 1, 2, 3]) {
      progress.show({ type: 'progress', stage: 'writing', percent });
      await vi.advanceTimersByTimeAsync(2000);
    }
    expect(sent).toEqual(['writing 1 %', 'writing 3 %']);
    await progress.end();
  });

  it('is said again every 15 seconds by an action that tells nothing, until it ends', async () => {
    const { sent, progress } = reporter();
    await vi.advanceTimersByTimeAsync(31_000);
    expect(sent).toEqual(['Started execution', 'Started execution']);
    await progress.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent).toHaveLength(2);
  });

  it('that cannot be sent is dropped, and a newer one follows', async () => {
    let tries = 0;
    const progress = new ProgressReporter('Started execution', () => {
      tries++;
      return Promise.reject(new Error('the server is away'));
    });
    progress.show({ type: 'progress', stage: 'writing', percent: 1 });
    await vi.advanceTimersByTimeAsync(6000);
    progress.show({ type: 'progress', stage: 'writing', percent: 2 });
    await progress.end();
    expect(tries).toBe(2);
  });
});

function reporter(): { sent: string[]; progress: ProgressReporter } {
  const sent: string[] = [];
  const progress = new ProgressReporter('Started execution', async (text) => {
    sent.push(text);
  });
  return { sent, progress };
}
