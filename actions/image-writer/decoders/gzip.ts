import { KindlingError } from '../../../protocol/error.ts';
import type { Native } from '../target/native.ts';
import { type Decoder, INPUT_PIECE } from './decoder.ts';
import {
  AVAIL_IN,
  AVAIL_OUT,
  NEXT_IN,
  NEXT_OUT,
  Z_BUF_ERROR,
  Z_OK,
  Z_STREAM_END,
  Z_STREAM_SIZE,
} from './z-stream.ts';

const Z_NO_FLUSH = 0;
/** 15 bits of window, +16: gzip framing only. */
const GZIP_WINDOW = 15 + 16;

/** gzip through the zlib inside node (several times faster than gunzip). Members may follow each other; zero padding may end the file. */
export function gzipDecoder(c: Native): Decoder {
  return async (input, output) => {
    const { functions } = c;
    const stream = Buffer.alloc(Z_STREAM_SIZE);
    if (functions.inflateInit2_(stream, GZIP_WINDOW, functions.zlibVersion(), Z_STREAM_SIZE) !== Z_OK) {
      throw new Error('inflateInit2 failed');
    }
    const ring = c.addressOf(input.memory);
    let blockInUse: Buffer | undefined;
    let blockAddress = 0n;
    let isBetweenMembers = false;
    let isPadding = false;

    try {
      for (let piece = input.next(INPUT_PIECE); piece; piece = input.next(INPUT_PIECE)) {
        const bytes = input.memory.subarray(piece.at, piece.at + piece.length);
        let used = 0;
        while (used < piece.length) {
          if (isPadding || (isBetweenMembers && bytes[used] === 0)) {
            if (bytes.subarray(used).some((byte) => byte !== 0)) throw damaged('data after the end');
            isPadding = true;
            used = piece.length;
            break;
          }
          if (isBetweenMembers) {
            if (bytes[used] !== 0x1f) throw damaged('data after the end that is no gzip member');
            functions.inflateReset(stream);
            isBetweenMembers = false;
          }
          if (blockInUse !== output.block) {
            blockInUse = output.block;
            blockAddress = c.addressOf(output.block);
          }
          stream.writeBigUInt64LE(ring + BigInt(piece.at + used), NEXT_IN);
          stream.writeUInt32LE(piece.length - used, AVAIL_IN);
          stream.writeBigUInt64LE(blockAddress + BigInt(output.filled), NEXT_OUT);
          stream.writeUInt32LE(output.block.length - output.filled, AVAIL_OUT);
          const result = functions.inflate(stream, Z_NO_FLUSH);
          if (result !== Z_OK && result !== Z_STREAM_END && result !== Z_BUF_ERROR) {
            throw damaged(`inflate says ${result}`);
          }
          used = piece.length - stream.readUInt32LE(AVAIL_IN);
          output.filled = output.block.length - stream.readUInt32LE(AVAIL_OUT);
          isBetweenMembers = result === Z_STREAM_END;
          if (output.filled === output.block.length) await output.commit();
        }
        input.consume(piece.length);
      }
      while (!isBetweenMembers && !isPadding && (await drain()));
    } finally {
      functions.inflateEnd(stream);
    }
    if (!isBetweenMembers && !isPadding) {
      throw new KindlingError('KND_IMAGE_TRUNCATED', 'the image ends in the middle of its gzip data');
    }

    /** inflate may hold output that did not fit into the last block, and its end may come without further input. */
    async function drain(): Promise<boolean> {
      const before = output.filled;
      stream.writeUInt32LE(0, AVAIL_IN);
      stream.writeBigUInt64LE(c.addressOf(output.block) + BigInt(before), NEXT_OUT);
      stream.writeUInt32LE(output.block.length - before, AVAIL_OUT);
      const result = functions.inflate(stream, Z_NO_FLUSH);
      output.filled = output.block.length - stream.readUInt32LE(AVAIL_OUT);
      isBetweenMembers = result === Z_STREAM_END;
      const produced = output.filled - before;
      if (output.filled === output.block.length) await output.commit();
      return produced > 0;
    }
  };
}

const damaged = (why: string) =>
  new KindlingError('KND_IMAGE_CORRUPT', `the image’s gzip data is damaged: ${why}`);
