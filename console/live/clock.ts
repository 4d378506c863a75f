import { signal } from '@preact/signals';

/** The present, once a second. What shows a time reads it, so all times on the page change together. */
export const nowMs = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    nowMs.value = Date.now() + offsetMs;
  }, 1000);
}

/**
 * The clock of this device may be wrong; times in answers are the server's. An event arrives after it happened, so the
 * largest difference seen is the nearest to the truth.
 */
let offsetMs = 0;
let hasHeard = false;

export function learnServerTime(serverMs: number): void {
  const difference = serverMs - Date.now();
  offsetMs = hasHeard ? Math.max(offsetMs, difference) : difference;
  hasHeard = true;
}
