import { once } from 'node:events';
import type { Transform } from 'node:stream';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { KindlingError } from '../../../protocol/error.ts';
import type { BlockOutput } from '../stream/block-output.ts';
import { type Decoder, INPUT_PIECE } from './decoder.ts';
import { putOutBytes } from './put-out-bytes.ts';

/** The same result without node:ffi, at about twice the CPU: through the streams of node:zlib. */
export const decodeGzipWithStreams: Decoder = (input, output) =>
  decodeWithStream(input, output, () => createGunzip({ chunkSize: INPUT_PIECE }), 'gzip');

export const decodeZstdWithStreams: Decoder = (input, output) =>
  decodeWithStream(
    input,
    output,
    () => createZstdDecompress({ chunkSize: INPUT_PIECE, params: { [constants.ZSTD_d_windowLogMax]: 27 } }),
    'zstd',
  );

async function decodeWithStream(
  input: Parameters<Decoder>[0],
  output: BlockOutput,
  create: () => Transform,
  name: string,
): Promise<void> {
  const stream = create();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  stream.on('error', (cause: NodeJS.ErrnoException) => failed.reject(nameZlibError(cause, name)));
  const drained = drain(stream, output);
  drained.catch(failed.reject);
  for (let piece = input.next(INPUT_PIECE); piece; piece = input.next(INPUT_PIECE)) {
    // a copy, because the stream keeps it while the ring goes on
    const bytes = Buffer.from(input.memory.subarray(piece.at, piece.at + piece.length));
    input.consume(piece.length);
    if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), failed.promise]);
  }
  stream.end();
  await Promise.race([drained, failed.promise]);
}

async function drain(stream: Transform, output: BlockOutput): Promise<void> {
  for await (const bytes of stream as AsyncIterable<Buffer>) await putOutBytes(bytes, output);
}

function nameZlibError(cause: NodeJS.ErrnoException, name: string): KindlingError {
  const isTruncated = /unexpected end|Z_BUF_ERROR/i.test(`${cause.message} ${cause.code}`);
  return isTruncated
    ? new KindlingError('KND_IMAGE_TRUNCATED', `the image ends in the middle of its ${name} data`, { cause })
    : new KindlingError('KND_IMAGE_CORRUPT', `the image’s ${name} data is damaged: ${cause.message}`, {
        cause,
      });
}
