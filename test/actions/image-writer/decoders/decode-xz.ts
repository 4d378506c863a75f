import { execFileSync } from 'node:child_process';
import type { Crew } from '../../../../actions/image-writer/decoders/xz/crew.ts';
import { decodeFile } from '../../../../actions/image-writer/decoders/xz/decode-file.ts';
import type { BlockOutput } from '../../../../actions/image-writer/stream/block-output.ts';
import { createRingMemory, RingReader, RingWriter } from '../../../../actions/image-writer/stream/ring.ts';

/** Compresses with the real program. */
export function xz(bytes: Buffer, ...options: string[]): Buffer {
  return execFileSync('xz', ['-c', ...options], { input: bytes, maxBuffer: 2 ** 28 });
}

/** Decodes a file that fits into the ring, as the stream worker does. */
export async function decode(crew: Crew, file: Buffer, blockBytes = 777_777): Promise<Buffer> {
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
  await decodeFile(crew, new RingReader(memory), output as unknown as BlockOutput);
  await output.commit();
  return Buffer.concat(parts);
}
