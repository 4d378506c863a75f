import { KindlingError } from '../../../protocol/error.ts';
import type { HttpConnection } from '../http/connection.ts';
import { get, redact, statusError } from '../http/get.ts';
import type { Transport } from '../interface.ts';
import type { ChunkTable } from './chunk-table.ts';

const DEFAULT_STALL_MS = 60_000;

export interface SpanFetch {
  table: ChunkTable;
  source: string;
  transport: Transport;
  from: number;
  to: number;
  /** Room for the longest frame. */
  frame: Buffer;
  connection: HttpConnection | undefined;
  onBytes: (bytes: number) => void;
  /** Takes one whole frame; false means: not now, `resume` when there is room. */
  onFrame: (index: number, frame: Buffer) => boolean;
  /** Called with a function that makes the body go on after `onFrame` said false. */
  onPausable: (resume: () => void) => void;
}

/** Fetches the frames of neighbouring chunks in one Range request and hands them on, one by one. */
export async function fetchSpan(options: SpanFetch): Promise<HttpConnection> {
  const { table, source, transport, from, to, frame } = options;
  const start = table.frameOffset(from);
  const end = table.frameOffset(to - 1) + table.frameLength(to - 1);
  let index = from;
  let position = start;
  let have = 0;
  let lastByteAt = performance.now();
  let isPaused = false;
  let open: HttpConnection | undefined;

  const sink = (bytes: Buffer): number => {
    lastByteAt = performance.now();
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
      const isWhole = have === 0 && bytes.length - at >= length;
      const piece = Math.min(length - have, bytes.length - at);
      if (!isWhole) bytes.copy(frame, have, at, at + piece);
      if (have + piece === length) {
        const whole = isWhole ? bytes.subarray(at, at + length) : frame.subarray(0, length);
        if (!options.onFrame(index, whole)) {
          // the last byte stays with the connection until there is room
          if (isWhole) bytes.copy(frame, 0, at, at + length - 1);
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
    options.onBytes(at);
    return at;
  };

  const stallMs = transport.stallTimeoutMs ?? DEFAULT_STALL_MS;
  const watch = setInterval(
    () => {
      if (!isPaused && performance.now() - lastByteAt > stallMs) open?.destroy();
    },
    Math.min(stallMs, 1000),
  );
  try {
    const connection = await get(source, {
      transport,
      headers: { range: `bytes=${start}-${end - 1}` },
      connection: options.connection,
      onConnection: (used) => {
        open = used;
        options.onPausable(() => used.resume());
      },
      onHead: ({ status, headers }) => {
        if (status === 200) {
          throw new KindlingError(
            'KND_IMAGE_NEEDS_RANGES',
            `${redact(source)} does not answer Range requests, which chunks need`,
          );
        }
        if (status !== 206) throw statusError(status, source);
        if (!headers['content-range']?.startsWith(`bytes ${start}-`)) {
          throw new KindlingError(
            'KND_IMAGE_SERVER_ERROR',
            `${redact(source)} sent another range than asked for`,
          );
        }
        return sink;
      },
    });
    if (index < to)
      throw new KindlingError('KND_IMAGE_TRUNCATED', `${redact(source)} ends before chunk ${index}`);
    return connection;
  } finally {
    clearInterval(watch);
  }
}
