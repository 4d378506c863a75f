import type { BlockOutput } from '../stream/block-output.ts';

/** For decoders that cannot work in the output's blocks: copies there, and hands over each block that is full. */
export async function putOutBytes(bytes: Buffer, output: BlockOutput): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const copied = bytes.copy(output.block, output.filled, done);
    done += copied;
    output.filled += copied;
    if (output.filled === output.block.length) await output.commit();
  }
}
