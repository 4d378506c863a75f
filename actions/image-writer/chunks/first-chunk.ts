import { redact } from '../../../net/redact.ts';
import { RetryWindow } from '../../../net/retry-window.ts';
import { isWorthAsking, nameDownloadError } from '../download.ts';
import type { WriteImageContext, WriteImageRequest } from '../interface.ts';
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
  const { signal } = context;
  const window = new RetryWindow({ policy: retry, sources: sources.length, signal });
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted();
    const source = sources[attempt % sources.length] ?? '';
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
        signal,
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
      signal?.throwIfAborted();
      const error = nameDownloadError(thrown, source);
      if (!window.mayAskAgain(!isWorthAsking(error) || isWrongContent(error))) throw error;
      context.log?.('warn', `first chunk: ${error.message}; trying again`);
      await window.pause();
    }
  }
}
