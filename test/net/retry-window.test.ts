import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const waits: number[] = [];
vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number, _: unknown, { signal }: { signal?: AbortSignal } = {}) => {
    waits.push(ms);
    await Promise.resolve();
    signal?.throwIfAborted();
  },
}));
// Test files of one worker share modules: ours is loaded anew with these timers, and nobody gets them after us.
vi.resetModules();
const { RetryWindow } = await import('../../net/retry-window.ts');
afterAll(() => {
  vi.doUnmock('node:timers/promises');
  vi.resetModules();
});

beforeEach(() => {
  waits.length = 0;
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('after a failure', () => {
  test('a source is asked again until the window is over', () => {
    const window = new RetryWindow({ policy: { windowMs: 10_000 } });
    expect(window.mayAskAgain()).toBe(true);
    vi.advanceTimersByTime(9000);
    expect(window.mayAskAgain()).toBe(true);
    vi.advanceTimersByTime(1100);
    expect(window.mayAskAgain()).toBe(false);
  });

  test('the coming pause counts: one that ends behind the window is not begun', () => {
    const window = new RetryWindow({ policy: { windowMs: 10_000 } });
    window.mayAskAgain();
    vi.advanceTimersByTime(9600);
    expect(window.mayAskAgain()).toBe(false);
  });

  test('a failure that took longer than the window to be noticed is asked about once more', () => {
    const window = new RetryWindow({ policy: { windowMs: 10_000 } });
    vi.advanceTimersByTime(60_000);
    expect(window.mayAskAgain()).toBe(true);
    window.progressed();
    vi.advanceTimersByTime(60_000);
    expect(window.mayAskAgain()).toBe(true);
  });

  test('the window begins again when something has come', () => {
    const window = new RetryWindow({ policy: { windowMs: 10_000 } });
    window.mayAskAgain();
    vi.advanceTimersByTime(9000);
    window.progressed();
    expect(window.mayAskAgain()).toBe(true);
    vi.advanceTimersByTime(9000);
    expect(window.mayAskAgain()).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(window.mayAskAgain()).toBe(false);
  });

  test('every source is asked once, whatever the policy says', () => {
    for (const policy of [{ isEnabled: false }, { windowMs: 0 }]) {
      const window = new RetryWindow({ policy, sources: 3 });
      expect([window.mayAskAgain(), window.mayAskAgain(), window.mayAskAgain()]).toEqual([true, true, false]);
    }
  });

  test('what asking again would not change ends when all sources have said it', () => {
    const window = new RetryWindow({ policy: {}, sources: 2 });
    expect([window.mayAskAgain(true), window.mayAskAgain(true)]).toEqual([true, false]);
  });

  test('without second tries, progress does not give any', () => {
    const window = new RetryWindow({ policy: { isEnabled: false }, sources: 2 });
    expect(window.mayAskAgain()).toBe(true);
    window.progressed();
    expect(window.mayAskAgain()).toBe(false);
  });
});

describe('the pause', () => {
  test('is not waited for while there is another source', async () => {
    const window = new RetryWindow({ policy: {}, sources: 2 });
    window.mayAskAgain();
    await window.pause();
    expect(waits).toEqual([]);
    window.mayAskAgain();
    await window.pause();
    expect(waits).toHaveLength(1);
  });

  test('becomes longer up to a limit, and short again when something has come', async () => {
    const window = new RetryWindow({ policy: {}, longestPauseMs: 2000 });
    for (let i = 0; i < 12; i += 1) {
      window.mayAskAgain();
      await window.pause();
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(2500);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(1500);
    window.progressed();
    window.mayAskAgain();
    await window.pause();
    expect(waits.at(-1)).toBeLessThanOrEqual(625);
  });

  test('ends at once when it is aborted', async () => {
    const abort = new AbortController();
    const window = new RetryWindow({ policy: {}, signal: abort.signal });
    window.mayAskAgain();
    const pause = window.pause();
    abort.abort(new Error('canceled'));
    await expect(pause).rejects.toThrow('canceled');
  });
});
