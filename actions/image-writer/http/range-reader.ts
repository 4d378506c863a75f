import { RetryWindow } from '../../../net/retry-window.ts';
import { isWorthAsking, nameDownloadError } from '../download.ts';
import type { WriteImageRequest } from '../interface.ts';
import { getSmall } from './get.ts';

export interface RangeReaderOptions {
  request: WriteImageRequest;
  signal: AbortSignal;
  log: (message: string) => void;
}

/** Reads parts of a file at any position, each again for as long as the request says; what is behind its end is missing. */
export function rangeReader(source: string, fileLength: number | undefined, options: RangeReaderOptions) {
  const { request, signal, log } = options;
  return async (position: number, length: number): Promise<Buffer> => {
    const end = Math.min(position + length, fileLength ?? Number.MAX_SAFE_INTEGER) - 1;
    if (end < position) return Buffer.alloc(0);
    const headers = { range: `bytes=${position}-${end}` };
    const window = new RetryWindow({ policy: request.retry ?? {}, signal });
    for (;;) {
      try {
        const found = await getSmall(source, { transport: request.transport ?? {}, headers, signal }, length);
        return found ?? Buffer.alloc(0);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = nameDownloadError(thrown, source);
        if (!window.mayAskAgain(!isWorthAsking(error))) throw error;
        log(`${error.message}; trying again`);
        await window.pause();
      }
    }
  };
}
