import { Duplex, PassThrough, type Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

/** Unpacks what its first bytes say it is: gzip, zstd, or nothing. The name and the media type are not asked. */
export async function decompressed(source: Readable): Promise<Readable> {
  const [first = Buffer.alloc(0)] = await firstChunk(source);
  const decoder = decoderFor(first);
  const joined = Duplex.from(
    (async function* () {
      yield first;
      yield* source;
    })(),
  );
  return joined.compose(decoder) as unknown as Readable;
}

function decoderFor(first: Buffer) {
  if (first[0] === 0x1f && first[1] === 0x8b) return createGunzip();
  if (first.length >= 4 && first.readUInt32LE(0) === 0xfd2fb528) return createZstdDecompress();
  return new PassThrough();
}

async function firstChunk(source: Readable): Promise<Buffer[]> {
  const iterator = source.iterator({ destroyOnReturn: false });
  const { value, done } = (await iterator.next()) as IteratorResult<Buffer>;
  await iterator.return?.();
  return done ? [] : [value];
}
