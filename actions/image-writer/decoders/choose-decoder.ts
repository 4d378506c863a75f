import { native } from '../target/native.ts';
import type { Decoder } from './decoder.ts';
import { gzipDecoder } from './gzip.ts';
import { decodeGzipWithStreams, decodeZstdWithStreams } from './node-zlib.ts';
import { pipeDecoder } from './pipe.ts';
import { qcow2Decoder } from './qcow2.ts';
import type { Qcow2Map } from './qcow2-map.ts';
import { decodeRaw } from './raw.ts';
import { zstdDecoder } from './zstd.ts';

/** How the worker turns the file into the disk; xz and bz2 reach it already decompressed: through a pipe, or as raw. */
export type Decoding =
  | { format: 'raw' | 'gz' | 'zst' }
  | { format: 'pipe'; fd: number }
  | { format: 'qcow2'; map: Qcow2Map };

export function chooseDecoder(decoding: Decoding): Decoder {
  const c = native();
  switch (decoding.format) {
    case 'raw':
      return decodeRaw;
    case 'gz':
      return c ? gzipDecoder(c) : decodeGzipWithStreams;
    case 'zst':
      return c ? zstdDecoder(c) : decodeZstdWithStreams;
    case 'pipe':
      return pipeDecoder(decoding.fd);
    case 'qcow2':
      return qcow2Decoder(decoding.map);
  }
}
