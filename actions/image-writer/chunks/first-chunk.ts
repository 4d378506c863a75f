import { redact } from '../../../net/redact.ts';
import { isWorthAsking, nameDownloadError } from '../download.ts';
import type { WriteImageContext, WriteImageRequest } from '../interface.ts';
import { DEFAULT_WINDOW_MS, RetryPause } from '../retry-pause.ts';
import type { ChunkTable } from './chunk-table.ts';
import { fetchSpan } from './fetch-span.ts';
import { createUnpack, hasHash, isWrongContent, wrongChunk } from './unpack-chunk.ts';

/** Fetches, verifies and unpacks the first chunk, before anything is written: it says what disk the image wants. */
export async function fetchFirstChunk(
  table: ChunkTable,
  { sources, transport = {}, retry = {} }: WriteImageRequest,
  context: WriteImageContext,
  onEtag: (source: string, etag: string) => void,
): Promise<Buffer> {
  const unpack = createUnpack();
  const startedAt = performance.now();
  const windowMs = retry.isEnabled === false ? 0 : (retry.windowMs ?? DEFAULT_WINDOW_MS);
  const pause = new RetryPause();
  for (let attempt = 1; ; attempt += 1) {
    context.signal?.throwIfAborted();
    const source = sources[(attempt - 1) % sources.length] ?? '';
    const raw = Buffer.alloc(table.rawLength(0));
    try {
      const connection = await fetchSpan({
        table,
        source,
        transport,
        from: 0,
        to: 1,
        frame: Buffer.alloc(table.frameLength(0)),
        connection: undefined,
        onBytes: () => {},
        onEtag: (etag) => onEtag(source, etag),
        onPausable: () => {},
        onFrame: (_, frame) => {
          const isRight = hasHash(frame, table.storedHash(0)) && unpack(frame, raw, raw.length);
          if (!isRight) throw wrongChunk(0, redact(source));
          return true;
        },
      });
      connection.destroy();
      return raw;
    } catch (thrown) {
      const error = nameDownloadError(thrown, source);
      const isHopeless = !isWorthAsking(error) || isWrongContent(error);
      const isOver = isHopeless ? attempt >= sources.length : performance.now() - startedAt > windowMs;
      if (isOver && attempt >= sources.length) throw error;
      context.log?.('warn', `first chunk: ${error.message}; trying again`);
      if (attempt % sources.length === 0) await pause.wait(context.signal);
    }
  }
}
