import type { Decoder } from '../../../../actions/image-writer/decoders/decoder.ts';
import type { BlockOutput } from '../../../../actions/image-writer/stream/block-output.ts';
import { createRingMemory, RingReader, RingWriter } from '../../../../actions/image-writer/stream/ring.ts';

/** Decodes a file that fits into the ring, as the stream worker does. The blocks that are put out have an odd length, unless another is asked for. */
export async function decodeInRing(decoder: Decoder, file: Buffer, blockBytes = 777_777): Promise<Buffer> {
  const memory = createRingMemory();
  const writer = new RingWriter(memory);
  if (writer.write(file) !== file.length) throw new Error('the file is too long for this test');
  writer.end();
  const parts: Buffer[] = [];
  const output = {
    block: Buffer.alloc(blockBytes),
    filled: 0,
    commit: async () => {
      parts.push(Buffer.from(output.block.subarray(0, output.filled)));
      output.filled = 0;
    },
  };
  await decoder(new RingReader(memory), output as unknown as BlockOutput);
  await output.commit();
  return Buffer.concat(parts);
}
