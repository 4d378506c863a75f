import { type Decoder, INPUT_PIECE } from './decoder.ts';

/** Copies: raw images, ISO images, and what an outside program has decompressed. */
export const decodeRaw: Decoder = async (input, output) => {
  for (let piece = input.next(INPUT_PIECE); piece; piece = input.next(INPUT_PIECE)) {
    const room = output.block.length - output.filled;
    const length = Math.min(room, piece.length);
    input.memory.copy(output.block, output.filled, piece.at, piece.at + length);
    output.filled += length;
    input.consume(length);
    if (output.filled === output.block.length) await output.commit();
  }
};
