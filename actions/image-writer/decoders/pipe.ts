import { readSync } from 'node:fs';
import type { Decoder } from './decoder.ts';

/** xz writes 8 KiB at a time: whoever reads each of them wakes up sixteen times as often as he needs to. */
const WORTHWHILE_READ = 256 * 1024;
/** Shorter than the pipe's 1 MiB needs to fill, so the program never waits for us. */
const LET_IT_FILL_MS = 2;

/** Reads what an outside program decompresses, straight into the output's blocks. Blocks this thread, which has nothing else to do. */
export function pipeDecoder(fd: number): Decoder {
  return async (input, output) => {
    const never = new Int32Array(new SharedArrayBuffer(4));
    for (;;) {
      const since = performance.now();
      const count = readSync(fd, output.block, output.filled, output.block.length - output.filled, null);
      input.add('inputWaitMs', performance.now() - since);
      if (count === 0) break;
      output.filled += count;
      if (output.filled === output.block.length) await output.commit();
      else if (count < WORTHWHILE_READ) Atomics.wait(never, 0, 0, LET_IT_FILL_MS);
    }
    // the end of the output is the end of the image only if the program says so too: then the ring ends, else it aborts
    while (input.next(1));
  };
}
