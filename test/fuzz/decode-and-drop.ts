import type { Decoder } from '../../actions/image-writer/decoders/decoder.ts';
import type { BlockOutput } from '../../actions/image-writer/stream/block-output.ts';
import { createRingMemory, RingReader, RingWriter } from '../../actions/image-writer/stream/ring.ts';

/** 16 MB that are the same for every input: to make them takes longer than to decode. */
const memory = createRingMemory();
const block = Buffer.alloc(64 * 1024);
/** What an honest file of this size may become: a bomb is stopped by the size of the disk. */
const MOST_BYTES = 4 * 1024 * 1024;

class TooMuch extends Error {}

/** Decodes a file that fits into the ring, as the stream worker does, and keeps nothing of it. */
export async function decodeAndDrop(decoder: Decoder, file: Buffer): Promise<void> {
  new Uint8Array(memory.control).fill(0);
  const writer = new RingWriter(memory);
  writer.write(file);
  writer.end();
  let written = 0;
  const output: Pick<BlockOutput, 'block' | 'filled' | 'commit'> = {
    block,
    filled: 0,
    commit: async () => {
      written += output.filled;
      output.filled = 0;
      if (written > MOST_BYTES) throw new TooMuch('the disk is full');
    },
  };
  await decoder(new RingReader(memory), output as BlockOutput);
}
