import { type Native, native } from './target/native.ts';

/** fcntl.h: O_CLOEXEC, and the command that sets a pipe's size. */
const CLOSE_ON_EXEC = 0o2000000;
const SET_PIPE_SIZE = 1031;
const PIPE_BYTES = 1024 * 1024;

export interface Pipe {
  readFd: number;
  writeFd: number;
  c: Native;
}

/**
 * A pipe of the kernel, as long as it may be, or undefined where there is no node:ffi. The streams Node puts on a child's
 * output copy every byte twice and wake the event loop for every 64 KiB; from a pipe a worker reads into its own block.
 */
export function openPipe(): Pipe | undefined {
  const c = native();
  if (!c) return undefined;
  const ends = new Int32Array(2);
  if (c.functions.pipe2(Buffer.from(ends.buffer), CLOSE_ON_EXEC) !== 0) return undefined;
  const [readFd = -1, writeFd = -1] = ends;
  c.functions.fcntl(readFd, SET_PIPE_SIZE, BigInt(PIPE_BYTES)); // refused above the user's limit; then it stays short
  return { readFd, writeFd, c };
}
