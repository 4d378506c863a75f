import { redact } from '../../../net/redact.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { HttpConnection } from '../http/connection.ts';
import { get, statusError } from '../http/get.ts';
import type { ResponseHead } from '../http/response-parser.ts';
import type { Transport } from '../interface.ts';
import { StallWatch } from '../stall-watch.ts';
import type { ChunkTable } from './chunk-table.ts';

export interface SpanFetch {
  table: ChunkTable;
  source: string;
  transport: Transport;
  from: number;
  to: number;
  /** Has room for the longest frame. */
  frame: Buffer;
  connection: HttpConnection | undefined;
  signal?: AbortSignal | undefined;
  onBytes: (bytes: number) => void;
  /** Called with the entity tag of each answer that has one. */
  onEtag?: (etag: string) => void;
  /** Takes one whole frame; false means: not now, `resume` when there is room. */
  onFrame: (index: number, frame: Buffer) => boolean;
  /** Called with a function that makes the body go on after `onFrame` said false. */
  onPausable: (resume: () => void) => void;
}

/** Fetches the frames of neighboring chunks in one Range request and hands them on, one by one. */
export async function fetchSpan(options: SpanFetch): Promise<HttpConnection> {
  const { table, source, transport, from, to, frame, signal } = options;
  const start = table.frameOffset(from);
  const end = table.frameOffset(to - 1) + table.frameLength(to - 1);
  let index = from;
  let position = start;
  let have = 0;
  let isPaused = false;
  let hasBody = false;
  let open: HttpConnection | undefined;
  const watch = new StallWatch(transport.stallTimeoutMs, () => isPaused);

  /** The rest of the frame that is being received. */
  const room = (): Buffer | undefined =>
    index < to && position >= table.frameOffset(index)
      ? frame.subarray(have, table.frameLength(index))
      : undefined;

  const isInPlace = (bytes: Buffer, at: number, place: number): boolean =>
    bytes.buffer === frame.buffer && bytes.byteOffset + at === frame.byteOffset + place;

  const sink = (bytes: Buffer): number => {
    isPaused = false;
    let at = 0;
    while (at < bytes.length && index < to) {
      const frameStart = table.frameOffset(index);
      // between two frames lie those of zero chunks, which nobody needs
      if (position < frameStart) {
        const skip = Math.min(frameStart - position, bytes.length - at);
        at += skip;
        position += skip;
        continue;
      }
      const length = table.frameLength(index);
      const piece = Math.min(length - have, bytes.length - at);
      if (!isInPlace(bytes, at, have)) bytes.copy(frame, have, at, at + piece);
      if (have + piece === length) {
        if (!options.onFrame(index, frame.subarray(0, length))) {
          // the last byte stays with the connection until there is room
          const kept = piece - 1;
          have += kept;
          at += kept;
          position += kept;
          isPaused = true;
          break;
        }
        have = 0;
        index += 1;
      } else {
        have += piece;
      }
      at += piece;
      position += piece;
    }
    watch.count(at);
    options.onBytes(at);
    return at;
  };

  // a connection that this attempt is still making must not bring bytes into the next one
  const attempt = new AbortController();
  const onAbort = () => open?.destroy();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const work = get(source, {
      transport,
      signal: AbortSignal.any([attempt.signal, ...(signal ? [signal] : [])]),
      headers: { range: `bytes=${start}-${end - 1}` },
      connection: options.connection,
      onConnection: (used) => {
        open = used;
        options.onPausable(() => used.resume());
      },
      onHead: (head) => {
        checkAnswer(head, start, table.memory.blobSize, source);
        if (head.headers['etag']) options.onEtag?.(head.headers['etag']);
        hasBody = true;
        return sink;
      },
      room,
    });
    const connection = await Promise.race([work, watch.stalled]);
    if (index < to) throw endsEarly(source, index);
    return connection;
  } catch (thrown) {
    attempt.abort(thrown);
    open?.destroy();
    if (thrown instanceof KindlingError || !hasBody) throw thrown;
    throw endsEarly(source, index, thrown);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    watch.stop();
  }
}

/** Judges an answer before its body: is it the range, of the file the manifest was made for? */
function checkAnswer(
  { status, headers }: ResponseHead,
  start: number,
  blobSize: number,
  source: string,
): void {
  if (status === 200) {
    throw new KindlingError(
      'KND_IMAGE_NEEDS_RANGES',
      `${redact(source)} does not answer Range requests, which chunks need`,
    );
  }
  if (status !== 206 && status !== 416) throw statusError(status, source);
  const total = Number(/\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] ?? blobSize);
  if (status === 416 || total < blobSize) {
    throw new KindlingError(
      'KND_IMAGE_TRUNCATED',
      `${redact(source)} has ${total} bytes, its manifest says ${blobSize}`,
    );
  }
  if (total > blobSize) {
    throw new KindlingError(
      'KND_IMAGE_LENGTH',
      `${redact(source)} announces ${total} bytes, its manifest says ${blobSize}`,
    );
  }
  if (!headers['content-range']?.startsWith(`bytes ${start}-`)) {
    throw new KindlingError('KND_IMAGE_SERVER_ERROR', `${redact(source)} sent another range than asked for`);
  }
}

const endsEarly = (source: string, index: number, cause?: unknown) =>
  new KindlingError('KND_IMAGE_TRUNCATED', `${redact(source)} broke off before the end of chunk ${index}`, {
    cause,
  });
