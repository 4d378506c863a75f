import { redact } from '../../../net/redact.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { nameDownloadError } from '../download.ts';
import type { RetryPolicy } from '../interface.ts';
import { DEFAULT_WINDOW_MS, RetryPause } from '../retry-pause.ts';
import { getSmall, type SmallGetOptions } from './get.ts';

const LONGEST_PAUSE_MS = 30_000;

export interface AnySourceOptions extends SmallGetOptions {
  maxLength: number;
  retry: RetryPolicy;
  /** Nothing goes on without it: one source that does not have it is no reason to give up the others. */
  isNeeded: boolean;
  log: (level: 'warn', message: string) => void;
}

/**
 * A small file that lies beside the image, from whichever source has it. A source that fails is asked again for as long as the
 * request says, as for the image itself; undefined when it is not there.
 */
export async function getFromAny(
  urls: readonly string[],
  options: AnySourceOptions,
): Promise<Buffer | undefined> {
  const { retry, maxLength, log, signal } = options;
  const windowMs = retry.isEnabled === false ? 0 : (retry.windowMs ?? DEFAULT_WINDOW_MS);
  const startedAt = performance.now();
  const pause = new RetryPause(LONGEST_PAUSE_MS);
  for (;;) {
    let isMissing = false;
    let failure: KindlingError | undefined;
    for (const url of urls) {
      try {
        const found = await getSmall(url, options, maxLength);
        if (found) return found;
        isMissing = true;
      } catch (thrown) {
        signal?.throwIfAborted();
        failure = nameDownloadError(thrown, url);
      }
    }
    if (!failure || (isMissing && !options.isNeeded)) return undefined;
    if (!failure.retryable || performance.now() - startedAt + pause.ms > windowMs) throw failure;
    log('warn', `${redact(urls[0] ?? '')}: ${failure.message}; trying again`);
    await pause.wait(signal);
  }
}
