// The structures of a file around its compressed data, in the order and with the names of xz-file-format.txt 1.1.

import { crc32 } from 'node:zlib';
import { damaged, unsupported } from './errors.ts';
import { type FilterChain, readFilterChain } from './filters.ts';

/** 2.1.1.1 */
const HEADER_MAGIC = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]);
/** 2.1.2.4 */
const FOOTER_MAGIC = 'YZ';
export const STREAM_HEADER_BYTES = 12;
export const STREAM_FOOTER_BYTES = 12;

/** 2.1.1.2: what comes behind each block, and how long it is. */
export const CHECK_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 4, 4: 8, 10: 32 };
export const CRC32 = 1;
export const CRC64 = 4;
export const SHA256 = 10;

const AGAIN = 'Compress it again with xz, or with zstd.';

export interface BlockHeader extends FilterChain {
  /** Of all the block's compressed data, if it says so; files made by several threads do. */
  compressedSize: number | undefined;
  uncompressedSize: number | undefined;
}

/** Answers what check the blocks of the stream have. */
export function readStreamHeader(bytes: Buffer): number {
  if (!bytes.subarray(0, 6).equals(HEADER_MAGIC)) throw damaged('something follows its end');
  if (crc32(bytes.subarray(6, 8)) !== bytes.readUInt32LE(8)) throw damaged('a stream header is wrong');
  const check = bytes.readUInt8(7);
  if (bytes.readUInt8(6) !== 0 || CHECK_BYTES[check] === undefined) {
    throw unsupported(`the image’s xz data has checks of an unknown kind (${check})`, AGAIN);
  }
  return check;
}

/** 3.1.1: the length that the first byte of a block header stands for; 0 is the index's. */
export function blockHeaderBytes(first: number): number {
  return (first + 1) * 4;
}

export function readBlockHeader(bytes: Buffer): BlockHeader {
  const end = bytes.length - 4;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end)) throw damaged('a block header is wrong');
  const flags = bytes.readUInt8(1);
  if (flags & 0x3c) throw unsupported('the image’s xz data has blocks of an unknown kind', AGAIN);
  const fields = new Fields(bytes.subarray(2, end));
  const compressedSize = flags & 0x40 ? Number(fields.integer()) : undefined;
  const uncompressedSize = flags & 0x80 ? Number(fields.integer()) : undefined;
  const chain = Array.from({ length: (flags & 3) + 1 }, () => ({
    id: fields.integer(),
    properties: fields.bytes(Number(fields.integer())),
  }));
  if (fields.rest().some((byte) => byte !== 0)) {
    throw unsupported('the image’s xz data has block headers of an unknown kind', AGAIN);
  }
  return { compressedSize, uncompressedSize, ...readFilterChain(chain) };
}

/** 2.1.2: answers how long the index says it is; the flags must be those of the header. */
export function readStreamFooter(bytes: Buffer, check: number): { indexBytes: number } {
  if (bytes.toString('latin1', 10) !== FOOTER_MAGIC) throw damaged('a stream has no end');
  if (crc32(bytes.subarray(4, 10)) !== bytes.readUInt32LE(0)) throw damaged('a stream footer is wrong');
  if (bytes.readUInt16BE(8) !== check) throw damaged('a stream’s end does not belong to its beginning');
  return { indexBytes: (bytes.readUInt32LE(4) + 1) * 4 };
}

/** 1.2: seven bits a byte, the lowest first, nine bytes at most; the last one has no mark, and is zero only if it is alone. */
export class Integer {
  #value = 0n;
  #count = 0;

  /** Takes the next byte; answers the number when that was the last one. */
  add(byte: number): bigint | undefined {
    if (this.#count === 9 || (byte === 0 && this.#count > 0)) throw damaged('a number is too long');
    this.#value |= BigInt(byte & 0x7f) << BigInt(7 * this.#count);
    this.#count += 1;
    return byte & 0x80 ? undefined : this.#value;
  }
}

class Fields {
  #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  bytes(length: number): Buffer {
    if (length > this.#bytes.length) throw damaged('a block header is too short');
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  integer(): bigint {
    const integer = new Integer();
    for (;;) {
      const value = integer.add(this.bytes(1).readUInt8());
      if (value !== undefined) return value;
    }
  }

  rest(): Buffer {
    return this.#bytes;
  }
}
