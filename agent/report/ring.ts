/** One line of the log, with its place in the order of all lines of this run. */
export interface RingEntry {
  sequence: number;
  line: string;
}

/** The last lines of the log, bounded in number and bytes, so that a server that was away gets what it missed. */
export class Ring {
  readonly #maxLines: number;
  readonly #maxBytes: number;
  readonly #waiters = new Set<() => void>();
  #entries: RingEntry[] = [];
  #bytes = 0;
  #next = 1;

  constructor(limits: { maxLines?: number; maxBytes?: number } = {}) {
    this.#maxLines = limits.maxLines ?? 10_000;
    this.#maxBytes = limits.maxBytes ?? 4 * 1024 * 1024;
  }

  push(line: string): void {
    this.#entries.push({ sequence: this.#next, line });
    this.#next += 1;
    this.#bytes += line.length;
    while (
      this.#entries.length > this.#maxLines ||
      (this.#bytes > this.#maxBytes && this.#entries.length > 1)
    ) {
      this.#bytes -= this.#entries.shift()?.line.length ?? 0;
    }
    for (const wake of this.#waiters) wake();
  }

  /** Up to `max` lines after the given number, oldest first. A gap in the numbers means: lines were lost. */
  after(sequence: number, max: number): RingEntry[] {
    const first = this.#entries[0]?.sequence ?? this.#next;
    const start = Math.max(0, sequence + 1 - first);
    return this.#entries.slice(start, start + max);
  }

  get lastSequence(): number {
    return this.#next - 1;
  }

  /** Resolves as soon as there is a line after the given number. */
  async moreThan(sequence: number, signal?: AbortSignal): Promise<void> {
    if (this.lastSequence > sequence) return;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal?.reason);
    this.#waiters.add(resolve);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      this.#waiters.delete(resolve);
      signal?.removeEventListener('abort', onAbort);
    }
  }
}
