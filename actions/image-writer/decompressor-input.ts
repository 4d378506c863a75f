import { closeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Native } from './target/native.ts';

/** fcntl.h: the command that sets a descriptor's flags, and the flag. */
const SET_FLAGS = 4;
const NON_BLOCKING = 0o4000;
const EAGAIN = 11;
/** Shorter than any program needs for the 1 MiB of compressed bytes that a full pipe holds. */
const TRY_AGAIN_MS = 5;

/** The way into a program that decompresses. */
export interface DecompressorInput {
  /** Takes as much as fits and answers how much that was; after less than all, `onRoom` is called when there is room. */
  write(bytes: Buffer, onRoom: () => void): number;
  end(): void;
  /** Time in which the program could not take more: it was the bottleneck. */
  readonly blockedMs: number;
}

/** Straight into a pipe of the kernel, without a copy of ours and nothing for the garbage collector. */
export class PipeInput implements DecompressorInput {
  readonly #c: Native;
  readonly #fd: number;
  #isOpen = true;
  #blockedSince: number | undefined;
  blockedMs = 0;

  constructor(c: Native, writeFd: number) {
    this.#c = c;
    this.#fd = writeFd;
    c.functions.fcntl(writeFd, SET_FLAGS, BigInt(NON_BLOCKING));
  }

  write(bytes: Buffer, onRoom: () => void): number {
    if (!this.#isOpen) return bytes.length;
    const taken = this.#fill(bytes);
    if (taken < bytes.length) {
      this.#blockedSince ??= performance.now();
      setTimeout(onRoom, TRY_AGAIN_MS);
    } else if (this.#blockedSince !== undefined) {
      this.blockedMs += performance.now() - this.#blockedSince;
      this.#blockedSince = undefined;
    }
    return taken;
  }

  /** Not fs.writeSync: a full pipe is no exception here, and making one costs more than the write. */
  #fill(bytes: Buffer): number {
    const { functions, errno } = this.#c;
    let taken = 0;
    while (taken < bytes.length) {
      const rest = bytes.subarray(taken);
      const count = Number(functions.write(this.#fd, rest, BigInt(rest.length)));
      // a program that gave up says why on stderr, and what is left would be for nobody
      if (count < 0) return errno() === EAGAIN ? taken : bytes.length;
      taken += count;
    }
    return taken;
  }

  end(): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
  }
}

/** Through Node's stream, where there is no node:ffi. */
export class StreamInput implements DecompressorInput {
  readonly #stream: Writable;
  #isDraining = false;
  blockedMs = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('error', () => {}); // a program that gives up says why on stderr
  }

  write(bytes: Buffer, onRoom: () => void): number {
    if (this.#isDraining) return 0;
    if (this.#stream.destroyed || this.#stream.write(Buffer.from(bytes))) return bytes.length;
    this.#isDraining = true;
    const since = performance.now();
    this.#stream.once('drain', () => {
      this.#isDraining = false;
      this.blockedMs += performance.now() - since;
      onRoom();
    });
    return bytes.length;
  }

  end(): void {
    this.#stream.end();
  }
}
