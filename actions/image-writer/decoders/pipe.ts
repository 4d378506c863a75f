import { readSync } from 'node:fs';
import type { Decoder } from './decoder.ts';

/** Reads what an outside program decompresses, straight into the output's blocks. Blocks this thread, which has nothing else to do. */
export function pipeDecoder(fd: number): Decoder {
  return async (input, output) => {
    for (;;) {
      const since = performance.now();
      const count = readSync(fd, output.block, output.filled, output.block.length - output.filled, null);
      input.add('inputWaitMs', performance.now() - since);
      if (count === 0) break;
      output.filled += count;
      if (output.filled === output.block.length) await output.commit();
    }
    // the end of the output is the end of the image only if the program says so too: then the ring ends, else it aborts
    while (input.next(1));
  };
}
