import { setTimeout as delay } from 'node:timers/promises';

/** How long a source that fails is asked again, where the policy does not say. */
const DEFAULT_WINDOW_MS = 600_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
const GROWTH = 1.5;

export interface RetryPolicy {
  /** Default true. */
  isEnabled?: boolean;
  /** How long to go on trying since the first failure after the last good byte. Default 10 minutes. */
  windowMs?: number;
}

export interface RetryWindowOptions {
  policy: RetryPolicy;
  /** How many sources take turns. Each is asked once, whatever the policy says about asking again. */
  sources?: number;
  longestPauseMs?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Decides after each failure whether to ask again, and waits: longer each time, until something has come. The window begins with the
 * first failure and not with the last byte: a stall, or a busy machine, may take longer than the window to become a failure, and would
 * be asked about never again.
 */
export class RetryWindow {
  readonly #options: RetryWindowOptions;
  #since = performance.now();
  #failingSince: number | undefined;
  #failures = 0;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(options: RetryWindowOptions) {
    this.#options = options;
  }

  /** When something last came. */
  get since(): number {
    return this.#since;
  }

  /** Something came: the next failure begins a new window. */
  progressed(): void {
    this.#since = performance.now();
    this.#failingSince = undefined;
    this.#pauseMs = FIRST_PAUSE_MS;
    if (this.#options.policy.isEnabled !== false) this.#failures = 0;
  }

  /** Counts a failure. May the next source be asked, or this one again? `isFinal`: asking again would not change it. */
  mayAskAgain(isFinal = false): boolean {
    const { policy, sources = 1 } = this.#options;
    const now = performance.now();
    this.#failingSince ??= now;
    this.#failures += 1;
    if (this.#failures < sources) return true;
    if (isFinal || policy.isEnabled === false) return false;
    // a pause that ends behind the window would be for nothing
    return now - this.#failingSince + this.#pauseMs <= (policy.windowMs ?? DEFAULT_WINDOW_MS);
  }

  /** Waits when all sources have failed; another one is asked at once. Ends with the signal's reason when it is aborted. */
  async pause(): Promise<void> {
    const { sources = 1, signal, longestPauseMs = LONGEST_PAUSE_MS } = this.#options;
    signal?.throwIfAborted();
    if (this.#failures < sources) return;
    // jittered, so that a rack of nodes does not come back in step
    await delay(this.#pauseMs * (0.75 + Math.random() / 2), undefined, signal ? { signal } : {});
    this.#pauseMs = Math.min(this.#pauseMs * GROWTH, longestPauseMs);
  }
}
