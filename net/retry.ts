import { type KindlingError, toKindlingError } from '../protocol/error.ts';
import { pause } from '../system/wait.ts';

export interface BackOff {
  firstMs: number;
  factor: number;
  maxMs: number;
}

/** Between two tries to reach a server: quick at first, never longer than half a minute, as a person may be watching. */
const RECONNECT: BackOff = { firstMs: 1000, factor: 2, maxMs: 30_000 };

/** The same for tests and the simulator, where time passes faster (`pace` below 1). */
export function reconnectBackOff(pace = 1): BackOff {
  return { ...RECONNECT, firstMs: RECONNECT.firstMs * pace, maxMs: RECONNECT.maxMs * pace };
}

/** Full delay ±25 %, so that a thousand nodes that lost the same server do not come back in the same second. */
export function delayBefore(
  retry: number,
  { firstMs, factor, maxMs }: BackOff,
  random = Math.random,
): number {
  const full = Math.min(maxMs, firstMs * factor ** retry);
  return Math.round(full * (0.75 + random() * 0.5));
}

export interface RetryOptions {
  /** What is being tried, for a person: "onboarding at host:443". */
  name: string;
  signal?: AbortSignal | undefined;
  backOff?: BackOff;
  /** Called after each failure with what is being waited for. */
  onFailure?: (wait: Waiting) => void;
  /** Failures that no amount of waiting cures; thrown at once. */
  isFinal?: (error: KindlingError) => boolean;
}

/** What the agent is waiting for, since when, and why. */
export interface Waiting {
  name: string;
  error: KindlingError;
  tries: number;
  sinceMs: number;
  nextTryMs: number;
}

/** Tries until it works: a person may still fix the other side, and a node that gave up needs somebody to walk to it. */
export async function retryUntilItWorks<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const startedAt = performance.now();
  for (let tries = 1; ; tries += 1) {
    options.signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (thrown) {
      if (options.signal?.aborted) throw options.signal.reason;
      const error = toKindlingError(thrown);
      if (error.code === 'KND_UNEXPECTED' || options.isFinal?.(error)) throw error;
      const nextTryMs = delayBefore(tries - 1, options.backOff ?? RECONNECT);
      options.onFailure?.({
        name: options.name,
        error,
        tries,
        sinceMs: performance.now() - startedAt,
        nextTryMs,
      });
      await pause(nextTryMs, options.signal);
    }
  }
}
