import { availableParallelism, totalmem } from 'node:os';
import { BlockThread } from './bz2/block-thread.ts';
import { decodeFile } from './bz2/decode-file.ts';
import { compileMachine } from './bz2/machine.ts';
import type { Decoder } from './decoder.ts';

/** A thread takes about 28 MB; more of them than these would be faster than the one thread that puts the blocks out. */
const MAX_THREADS = 6;
const MEMORY_PER_THREAD = 128 * 1024 * 1024;

/** bzip2 by a decoder of our own, on all cores; its hot loops are WebAssembly (bz2/machine). */
export const decodeBz2: Decoder = async (input, output) => {
  const threads = await startBlockThreads();
  try {
    await decodeFile(threads, input, output);
  } finally {
    await Promise.all(threads.map((thread) => thread.stop()));
  }
};

/** As many as there are cores and memory for. */
export function startBlockThreads(code = compileMachine()): Promise<BlockThread[]> {
  const affordable = Math.max(1, Math.floor(totalmem() / MEMORY_PER_THREAD));
  const count = Math.min(availableParallelism(), MAX_THREADS, affordable);
  return Promise.all(Array.from({ length: count }, () => BlockThread.start(code)));
}
