import { KindlingError } from '../../../protocol/error.ts';
import type { Native } from '../target/native.ts';
import { type Decoder, INPUT_PIECE } from './decoder.ts';

/** Fields of ZSTD_inBuffer and ZSTD_outBuffer (zstd.h): pointer, size, position. */
const POINTER = 0;
const SIZE = 1;
const POSITION = 2;

/** zstd straight from the ring into the aligned block: no copy in between, no allocation. Frames may follow each other. */
export function zstdDecoder(c: Native): Decoder {
  return async (input, output) => {
    const { functions } = c;
    const context = functions.ZSTD_createDCtx();
    const inFields = new BigUint64Array(3);
    const outFields = new BigUint64Array(3);
    const inStruct = Buffer.from(inFields.buffer);
    const outStruct = Buffer.from(outFields.buffer);
    const ring = c.addressOf(input.memory);
    let blockInUse: Buffer | undefined;
    let missing = 0n;

    const step = async (): Promise<number> => {
      if (blockInUse !== output.block) {
        blockInUse = output.block;
        outFields[POINTER] = c.addressOf(output.block);
        outFields[SIZE] = BigInt(output.block.length);
      }
      const before = output.filled;
      outFields[POSITION] = BigInt(before);
      missing = functions.ZSTD_decompressStream(context, outStruct, inStruct);
      if (functions.ZSTD_isError(missing)) throw zstdError(c.textAt(functions.ZSTD_getErrorName(missing)));
      output.filled = Number(outFields[POSITION]);
      const produced = output.filled - before;
      if (output.filled === output.block.length) await output.commit();
      return produced;
    };

    try {
      for (let piece = input.next(INPUT_PIECE); piece; piece = input.next(INPUT_PIECE)) {
        inFields[POINTER] = ring + BigInt(piece.at);
        inFields[SIZE] = BigInt(piece.length);
        inFields[POSITION] = 0n;
        while ((inFields[POSITION] ?? 0n) < BigInt(piece.length)) await step();
        input.consume(piece.length);
      }
      // the decoder may still hold output that did not fit into the last block
      inFields[SIZE] = 0n;
      inFields[POSITION] = 0n;
      while (missing !== 0n && (await step()) > 0);
    } finally {
      functions.ZSTD_freeDCtx(context);
    }
    if (missing !== 0n) {
      throw new KindlingError('KND_IMAGE_TRUNCATED', 'the image ends in the middle of its zstd data');
    }
  };
}

function zstdError(name: string): KindlingError {
  return /too much memory/.test(name)
    ? new KindlingError(
        'KND_IMAGE_UNSUPPORTED',
        `the image was compressed with too large a zstd window: ${name}`,
        {
          hint: 'Compress it without --long, or with --long=27 at most.',
        },
      )
    : new KindlingError('KND_IMAGE_CORRUPT', `the image’s zstd data is damaged: ${name}`);
}
