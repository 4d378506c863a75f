import { redact } from '../../../net/redact.ts';
import { type RetryPolicy, RetryWindow } from '../../../net/retry-window.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { nameDownloadError } from '../download.ts';
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
  const window = new RetryWindow({ policy: retry, longestPauseMs: LONGEST_PAUSE_MS, signal });
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
    if (!window.mayAskAgain(!failure.retryable)) throw failure;
    log('warn', `${redact(urls[0] ?? '')}: ${failure.message}; trying again`);
    await window.pause();
  }
}
