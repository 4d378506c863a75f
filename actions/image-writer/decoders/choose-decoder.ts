import { native } from '../target/native.ts';
import { decodeBz2 } from './bz2.ts';
import type { Decoder } from './decoder.ts';
import { gzipDecoder } from './gzip.ts';
import { decodeGzipWithStreams, decodeZstdWithStreams } from './node-zlib.ts';
import { qcow2Decoder } from './qcow2.ts';
import type { Qcow2Map } from './qcow2-map.ts';
import { decodeRaw } from './raw.ts';
import { decodeXz } from './xz.ts';
import { zstdDecoder } from './zstd.ts';

/** How the worker turns the file into the disk. */
export type Decoding = { format: 'raw' | 'gz' | 'bz2' | 'xz' | 'zst' } | { format: 'qcow2'; map: Qcow2Map };

export function chooseDecoder(decoding: Decoding): Decoder {
  const c = native();
  switch (decoding.format) {
    case 'raw':
      return decodeRaw;
    case 'gz':
      return c ? gzipDecoder(c) : decodeGzipWithStreams;
    case 'bz2':
      return decodeBz2;
    case 'xz':
      return decodeXz;
    case 'zst':
      return c ? zstdDecoder(c) : decodeZstdWithStreams;
    case 'qcow2':
      return qcow2Decoder(decoding.map);
  }
}
