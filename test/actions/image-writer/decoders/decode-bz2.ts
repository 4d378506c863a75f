import { execFileSync } from 'node:child_process';
import type { BlockThread } from '../../../../actions/image-writer/decoders/bz2/block-thread.ts';
import { decodeFile } from '../../../../actions/image-writer/decoders/bz2/decode-file.ts';
import type { MarkFinder } from '../../../../actions/image-writer/decoders/bz2/marks.ts';
import type { BlockOutput } from '../../../../actions/image-writer/stream/block-output.ts';
import { createRingMemory, RingReader, RingWriter } from '../../../../actions/image-writer/stream/ring.ts';

/** Compresses with the real program. */
export function bzip2(bytes: Buffer, level = 9): Buffer {
  return execFileSync('bzip2', ['-c', `-${level}`], { input: bytes, maxBuffer: 2 ** 28 });
}

export interface DecodeOptions {
  /** Length of the blocks that are put out; odd, unless something else is asked for. */
  blockBytes?: number;
  finder?: MarkFinder;
}

/** Decodes a file that fits into the ring, as the stream worker does. */
export async function decode(
  threads: readonly BlockThread[],
  file: Buffer,
  { blockBytes = 777_777, finder }: DecodeOptions = {},
): Promise<Buffer> {
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
  await decodeFile(threads, new RingReader(memory), output as unknown as BlockOutput, finder);
  await output.commit();
  return Buffer.concat(parts);
}
