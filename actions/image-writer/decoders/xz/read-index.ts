import { crc32 } from 'node:zlib';
import { Integer } from './container.ts';
import { damaged } from './errors.ts';
import type { FileReader, NEEDS_INPUT } from './file-reader.ts';

/** What the index says of a block; xz-file-format 4.3. */
export interface IndexRecord {
  /** From the header to the check, without the padding. */
  unpaddedSize: number;
  uncompressedSize: number;
}

/** Reads the index, behind its first byte, and compares it with the blocks that were there; answers its length. */
export function* readIndex(
  file: FileReader,
  blocks: readonly IndexRecord[],
): Generator<typeof NEEDS_INPUT, number> {
  const start = file.position - 1;
  let crc = crc32(Buffer.from([0]));
  const byte = function* () {
    const value = yield* file.byte();
    crc = crc32(Buffer.from([value]), crc);
    return value;
  };
  const integer = function* () {
    const parts = new Integer();
    for (;;) {
      const value = parts.add(yield* byte());
      if (value !== undefined) return Number(value);
    }
  };
  if ((yield* integer()) !== blocks.length) throw damaged('the index counts other blocks');
  for (const { unpaddedSize, uncompressedSize } of blocks) {
    if ((yield* integer()) !== unpaddedSize || (yield* integer()) !== uncompressedSize) {
      throw damaged('the index is of other blocks');
    }
  }
  while ((file.position - start) % 4 !== 0) {
    if ((yield* byte()) !== 0) throw damaged('the index is not padded with zeros');
  }
  const expected = yield* file.take(4);
  if (expected.readUInt32LE() !== crc) throw damaged('the CRC of the index is wrong');
  return file.position - start;
}
