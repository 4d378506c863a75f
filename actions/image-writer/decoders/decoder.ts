import type { BlockOutput } from '../stream/block-output.ts';
import type { RingReader } from '../stream/ring.ts';

/** Turns the bytes of a file into the bytes of a disk, from the ring into the output's blocks. */
export type Decoder = (input: RingReader, output: BlockOutput) => Promise<void>;

/** How much input is taken at a time: large enough to be cheap, small enough that the ring frees up steadily. */
export const INPUT_PIECE = 1024 * 1024;
