import type { RingReader } from '../../stream/ring.ts';
import { INPUT_PIECE } from '../decoder.ts';
import { cutOff } from './errors.ts';

/** Thrown by code that reads ahead when there is nothing to read yet. */
export const NEEDS_INPUT = 'input';

/** Reads the file from front to back. It never waits for bytes itself, but yields: the coordinator may have something better to do. */
export class FileReader {
  readonly #input: RingReader;
  /** Bytes read so far. */
  position = 0;

  constructor(input: RingReader) {
    this.#input = input;
  }

  *take(length: number): Generator<typeof NEEDS_INPUT, Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    yield* this.fill(bytes);
    return bytes;
  }

  /** Reads as many bytes as fit into the target. */
  *fill(target: Buffer): Generator<typeof NEEDS_INPUT, void> {
    for (let filled = 0; filled < target.length; ) {
      if (!this.#input.hasNext()) yield NEEDS_INPUT;
      const piece = this.#input.next(target.length - filled);
      if (!piece) throw cutOff();
      this.#input.memory.copy(target, filled, piece.at, piece.at + piece.length);
      this.#input.consume(piece.length);
      filled += piece.length;
      this.position += piece.length;
    }
  }

  *byte(): Generator<typeof NEEDS_INPUT, number> {
    const value = yield* this.peek();
    if (value === undefined) throw cutOff();
    this.#input.consume(1);
    this.position += 1;
    return value;
  }

  /** Reads on to a byte other than zero, or to the end. */
  *skipZeros(): Generator<typeof NEEDS_INPUT, void> {
    for (;;) {
      if (!this.#input.hasNext()) yield NEEDS_INPUT;
      const piece = this.#input.next(INPUT_PIECE);
      if (!piece) return;
      const bytes = this.#input.memory.subarray(piece.at, piece.at + piece.length);
      const other = bytes.findIndex((byte) => byte !== 0);
      const zeros = other === -1 ? bytes.length : other;
      this.#input.consume(zeros);
      this.position += zeros;
      if (other !== -1) return;
    }
  }

  /** The next byte, which stays where it is; undefined at the end. */
  *peek(): Generator<typeof NEEDS_INPUT, number | undefined> {
    if (!this.#input.hasNext()) yield NEEDS_INPUT;
    const piece = this.#input.next(1);
    return piece && this.#input.memory[piece.at];
  }
}
