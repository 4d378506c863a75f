import { availableParallelism, totalmem } from 'node:os';
import type { Native } from '../target/native.ts';
import { type Decoder, INPUT_PIECE } from './decoder.ts';
import { ACTION, ANSWER, CONCATENATED, type LzmaLibrary, OPTIONS, STREAM } from './lzma-library.ts';
import { cutOff, damaged, dictionaryTooLarge } from './xz/errors.ts';

/** Blocks that need more than this together are decompressed one after the other, so that 512 MB of RAM are enough. */
const THREADING_LIMIT = 96n * 1024n * 1024n;

/** Blocks come out in their order: while one thread waits for its turn another one can go on (6 % faster on two cores). */
const SPARE_THREADS = 1;

/**
 * For xz with filters that ours does not have (BCJ, delta): the system's library, on all cores where the file has several blocks, from the
 * ring into the aligned block. The program xz would write 8 KiB at a time into a pipe, and we would have to read them.
 */
export function liblzmaDecoder(c: Native, lzma: LzmaLibrary): Decoder {
  return async (input, output) => {
    const stream = Buffer.alloc(STREAM.size);
    const started = lzma.lzma_stream_decoder_mt(stream, decoderOptions());
    if (started !== ANSWER.ok) throw new Error(`lzma_stream_decoder_mt says ${started}`);
    const ring = c.addressOf(input.memory);
    let blockInUse: Buffer | undefined;
    let blockAddress = 0n;
    let answer: number = ANSWER.ok;

    const step = async (action: number): Promise<void> => {
      if (blockInUse !== output.block) {
        blockInUse = output.block;
        blockAddress = c.addressOf(output.block);
      }
      stream.writeBigUInt64LE(blockAddress + BigInt(output.filled), STREAM.nextOut);
      stream.writeBigUInt64LE(BigInt(output.block.length - output.filled), STREAM.availOut);
      answer = lzma.lzma_code(stream, action);
      if (answer !== ANSWER.ok && answer !== ANSWER.streamEnd && answer !== ANSWER.noProgress) {
        throw lzmaError(answer);
      }
      output.filled = output.block.length - Number(stream.readBigUInt64LE(STREAM.availOut));
      if (output.filled === output.block.length) await output.commit();
    };

    try {
      for (let piece = input.next(INPUT_PIECE); piece; piece = input.next(INPUT_PIECE)) {
        stream.writeBigUInt64LE(ring + BigInt(piece.at), STREAM.nextIn);
        stream.writeBigUInt64LE(BigInt(piece.length), STREAM.availIn);
        while (stream.readBigUInt64LE(STREAM.availIn) > 0n) await step(ACTION.run);
        input.consume(piece.length);
      }
      // only now the library knows that no further stream follows
      do await step(ACTION.finish);
      while (answer === ANSWER.ok);
    } finally {
      lzma.lzma_end(stream);
    }
    if (answer !== ANSWER.streamEnd) {
      throw cutOff();
    }
  };
}

function decoderOptions(): Buffer {
  const options = Buffer.alloc(OPTIONS.size);
  options.writeUInt32LE(CONCATENATED, OPTIONS.flags);
  options.writeUInt32LE(availableParallelism() + SPARE_THREADS, OPTIONS.threads);
  options.writeBigUInt64LE(THREADING_LIMIT, OPTIONS.limitThreading);
  options.writeBigUInt64LE(BigInt(Math.floor(totalmem() / 2)), OPTIONS.limitStop);
  return options;
}

function lzmaError(answer: number): Error {
  return answer === ANSWER.memoryLimit ? dictionaryTooLarge() : damaged(`liblzma says ${answer}`);
}
