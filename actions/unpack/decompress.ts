import { Duplex, PassThrough, type Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

/** Unpacks what its first bytes say it is: gzip, zstd, or nothing. The name and the media type are not asked. */
export async function decompressed(source: Readable): Promise<Readable> {
  // One iterator from the first byte to the last: between two of them nobody would be there to take an error, and that ends the process.
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const start = await chunks.next();
  const first = start.done ? Buffer.alloc(0) : start.value;
  const joined = Duplex.from(
    (async function* () {
      yield first;
      if (!start.done) yield* { [Symbol.asyncIterator]: () => chunks };
    })(),
  );
  return joined.compose(decoderFor(first)) as unknown as Readable;
}

function decoderFor(first: Buffer) {
  if (first[0] === 0x1f && first[1] === 0x8b) return createGunzip();
  if (first.length >= 4 && first.readUInt32LE(0) === 0xfd2fb528) return createZstdDecompress();
  return new PassThrough();
}
