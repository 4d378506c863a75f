import { setTimeout as delay } from 'node:timers/promises';
import { KindlingError } from '../protocol/error.ts';
import type { ErrorCode } from '../protocol/error-codes.ts';

export interface WaitOptions {
  /** What is being waited for, for a person, after "waiting for": "DHCP on eno1". It shows up in status and in the error. */
  name: string;
  timeoutMs: number;
  intervalMs?: number;
  signal?: AbortSignal;
  /** The code to fail with; KND_TIMEOUT by default. */
  code?: ErrorCode;
  /** Called now and then so that a status line can say "waiting for DHCP on eno1 since 12 s". */
  onWaiting?: (name: string, elapsedMs: number) => void;
}

/** Asks `probe` again and again until it answers something other than undefined, or the deadline passes. */
export async function waitFor<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  options: WaitOptions,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    options.signal?.throwIfAborted();
    const answer = await probe();
    if (answer !== undefined) return answer;
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs >= options.timeoutMs) {
      throw new KindlingError(
        options.code ?? 'KND_TIMEOUT',
        `timed out after ${Math.round(options.timeoutMs / 1000)} s waiting for ${options.name}`,
      );
    }
    options.onWaiting?.(options.name, elapsedMs);
    await delay(options.intervalMs ?? 200, undefined, options.signal ? { signal: options.signal } : {});
  }
}

/** Waits a fixed time. Only for back-off between tries: what can be asked for is waited for with `waitFor`. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, signal ? { signal } : {});
}
