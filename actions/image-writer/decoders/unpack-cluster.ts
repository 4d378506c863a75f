import { KindlingError } from '../../../protocol/error.ts';
import { type Native, native } from '../target/native.ts';
import { decompressCluster } from './qcow2-map.ts';
import { AVAIL_IN, AVAIL_OUT, NEXT_IN, NEXT_OUT, Z_OK, Z_STREAM_END, Z_STREAM_SIZE } from './z-stream.ts';

/** A raw deflate stream, with any window. */
const RAW_WINDOW = -15;
const Z_NO_FLUSH = 0;

/** Unpacks one compressed cluster; what it answers is valid until the next call. */
export type UnpackCluster = (stored: Buffer, coding: 'deflate' | 'zstd') => Buffer;

/** One zlib state and one buffer for all clusters: an image has tens of thousands, and a new state for each costs memory and time. */
export function createUnpackCluster(maxClusterBytes: number): UnpackCluster & Disposable {
  const c = native();
  const inflate = c ? createInflate(c, maxClusterBytes) : undefined;
  const unpack: UnpackCluster = (stored, coding) =>
    inflate && coding === 'deflate'
      ? inflate.cluster(stored)
      : decompressCluster(stored, coding, maxClusterBytes);
  return Object.assign(unpack, { [Symbol.dispose]: () => inflate?.end() });
}

function createInflate(c: Native, maxClusterBytes: number) {
  const { functions } = c;
  const stream = Buffer.alloc(Z_STREAM_SIZE);
  const output = Buffer.allocUnsafeSlow(maxClusterBytes);
  const outputAddress = c.addressOf(output);
  if (functions.inflateInit2_(stream, RAW_WINDOW, functions.zlibVersion(), Z_STREAM_SIZE) !== Z_OK) {
    throw new Error('inflateInit2 failed');
  }
  return {
    cluster(stored: Buffer): Buffer {
      functions.inflateReset(stream);
      stream.writeBigUInt64LE(c.addressOf(stored), NEXT_IN);
      stream.writeUInt32LE(stored.length, AVAIL_IN);
      stream.writeBigUInt64LE(outputAddress, NEXT_OUT);
      stream.writeUInt32LE(maxClusterBytes, AVAIL_OUT);
      const result = functions.inflate(stream, Z_NO_FLUSH);
      // its end comes before the end of the input: the rest of the last sector belongs to the next cluster
      if (result !== Z_STREAM_END && result !== Z_OK) {
        throw new KindlingError('KND_IMAGE_CORRUPT', 'a compressed cluster of the qcow2 image is damaged');
      }
      return output.subarray(0, maxClusterBytes - stream.readUInt32LE(AVAIL_OUT));
    },
    end: () => functions.inflateEnd(stream),
  };
}
