/**
 * A ring of bytes between the thread that downloads and the thread that decompresses: one writer, one reader, no
 * locks. Positions count bytes modulo 2^32; the ring's size is a power of two.
 */
const RING_BYTES = 16 * 1024 * 1024;
const MASK = RING_BYTES - 1;

/** Words of the shared control block. */
const HEAD = 0;
const TAIL = 1;
const ENDED = 2;
const ABORTED = 3;
const WRITER_WAITS = 4;
const WORDS = 5;
/** A writer that ran into a full ring is woken only when this much is free: waking it costs more than a copy. */
const WAKE_ROOM = RING_BYTES / 2;
const FIGURES_OFFSET = 64;

/** What the worker tells about itself while it runs, as float64 cells. */
export const FIGURES = ['bytesRaw', 'bytesWritten', 'inputWaitMs', 'decodeMs', 'diskWaitMs'] as const;
export type Figure = (typeof FIGURES)[number];

export interface RingMemory {
  bytes: SharedArrayBuffer;
  control: SharedArrayBuffer;
}

export function createRingMemory(): RingMemory {
  return {
    bytes: new SharedArrayBuffer(RING_BYTES),
    control: new SharedArrayBuffer(FIGURES_OFFSET + FIGURES.length * 8),
  };
}

export class RingWriter {
  #bytes: Buffer;
  #words: Int32Array;
  #figures: Float64Array;
  #head = 0;

  constructor(memory: RingMemory) {
    this.#bytes = Buffer.from(memory.bytes);
    this.#words = new Int32Array(memory.control, 0, WORDS);
    this.#figures = new Float64Array(memory.control, FIGURES_OFFSET);
  }

  /** Takes as much as fits and answers how much that was. */
  write(bytes: Buffer): number {
    let taken = 0;
    while (taken < bytes.length) {
      const used = (this.#head - Atomics.load(this.#words, TAIL)) >>> 0;
      const at = this.#head & MASK;
      const room = Math.min(RING_BYTES - used, RING_BYTES - at, bytes.length - taken);
      if (room === 0) break;
      bytes.copy(this.#bytes, at, taken, taken + room);
      taken += room;
      this.#head = (this.#head + room) | 0;
    }
    if (taken > 0) {
      Atomics.store(this.#words, HEAD, this.#head);
      Atomics.notify(this.#words, HEAD);
    }
    return taken;
  }

  /** Resolves when the reader has made room. */
  async roomFreed(): Promise<void> {
    Atomics.store(this.#words, WRITER_WAITS, 1);
    const used = (this.#head - Atomics.load(this.#words, TAIL)) >>> 0;
    if (RING_BYTES - used >= WAKE_ROOM) return;
    const wait = Atomics.waitAsync(this.#words, WRITER_WAITS, 1);
    if (wait.async) await wait.value;
  }

  end(): void {
    Atomics.store(this.#words, ENDED, 1);
    Atomics.notify(this.#words, HEAD);
  }

  /** Makes the reader throw at its next look. */
  abort(): void {
    Atomics.store(this.#words, ABORTED, 1);
    Atomics.notify(this.#words, HEAD);
  }

  figure(name: Figure): number {
    return this.#figures[FIGURES.indexOf(name)] ?? 0;
  }
}

export class RingReader {
  readonly memory: Buffer;
  #words: Int32Array;
  #figures: Float64Array;
  #tail = 0;

  constructor(memory: RingMemory) {
    this.memory = Buffer.from(memory.bytes);
    this.#words = new Int32Array(memory.control, 0, WORDS);
    this.#figures = new Float64Array(memory.control, FIGURES_OFFSET);
  }

  /**
   * Blocks this thread until there are bytes; gives where they lie in `memory`, or undefined at the end. At least
   * `atLeast` contiguous bytes are not promised: the ring wraps.
   */
  next(maxLength: number): { at: number; length: number } | undefined {
    for (;;) {
      if (Atomics.load(this.#words, ABORTED)) throw new Error('aborted');
      const hasEnded = Atomics.load(this.#words, ENDED) === 1;
      const head = Atomics.load(this.#words, HEAD);
      const available = (head - this.#tail) >>> 0;
      if (available > 0) {
        const at = this.#tail & MASK;
        return { at, length: Math.min(available, RING_BYTES - at, maxLength) };
      }
      if (hasEnded) return undefined;
      const since = performance.now();
      Atomics.wait(this.#words, HEAD, head, 100);
      this.add('inputWaitMs', performance.now() - since);
    }
  }

  /** Would `next` answer at once? */
  hasNext(): boolean {
    return Atomics.load(this.#words, HEAD) !== this.#tail || Atomics.load(this.#words, ENDED) === 1;
  }

  consume(length: number): void {
    this.#tail = (this.#tail + length) | 0;
    Atomics.store(this.#words, TAIL, this.#tail);
    if (Atomics.load(this.#words, WRITER_WAITS) === 0) return;
    const used = (Atomics.load(this.#words, HEAD) - this.#tail) >>> 0;
    if (RING_BYTES - used < WAKE_ROOM) return;
    Atomics.store(this.#words, WRITER_WAITS, 0);
    Atomics.notify(this.#words, WRITER_WAITS);
  }

  add(name: Figure, amount: number): void {
    const index = FIGURES.indexOf(name);
    this.#figures[index] = (this.#figures[index] ?? 0) + amount;
  }
}
