import { setTimeout as delay } from 'node:timers/promises';

/** How long a source that fails is asked again, where the request does not say. */
export const DEFAULT_WINDOW_MS = 600_000;
const FIRST_MS = 500;
const LONGEST_MS = 60_000;
const GROWTH = 1.5;

/** The pause before a source is asked again: longer each time, until it gave something. */
export class RetryPause {
  readonly #longestMs: number;
  ms = FIRST_MS;

  constructor(longestMs = LONGEST_MS) {
    this.#longestMs = longestMs;
  }

  reset(): void {
    this.ms = FIRST_MS;
  }

  /** Jittered, so that a rack of nodes does not come back in step. */
  async wait(signal?: AbortSignal | undefined): Promise<void> {
    await delay(this.ms * (0.75 + Math.random() / 2), undefined, signal ? { signal } : {});
    this.ms = Math.min(this.ms * GROWTH, this.#longestMs);
  }
}
