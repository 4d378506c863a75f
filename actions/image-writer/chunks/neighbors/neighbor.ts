import { KindlingError } from '../../../../protocol/error.ts';
import type { HttpConnection } from '../../http/connection.ts';
import { getSmall } from '../../http/get.ts';
import type { Transport } from '../../interface.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { hasHash } from '../unpack-chunk.ts';

/** Time for a bitmap, and for a whole chunk. */
const LOOK_MS = 5_000;
const CHUNK_MS = 10_000;
/** A neighbor that was silent is asked again after this long, then after twice as long, and so on. */
const LEFT_OUT_MS = 5_000;
const LEFT_OUT_AT_MOST_MS = 60_000;
/** So long without an answer, and the others share out what it was to fetch. A busy machine may need seconds. */
const GONE_AFTER_MS = 10_000;
/** It serves others just now. */
const BUSY_MS = 200;
/** Nobody listens there (any more); anything else may be a machine that is only slow. */
const NOBODY: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

export type FetchedChunk = { raw: Buffer; wireBytes: number };

/** One node that gets the same image, as one thread of ours knows it. */
export class Neighbor {
  readonly url: string;
  readonly #base: string;
  readonly #transport: Transport;
  readonly #table: ChunkTable;
  readonly #signal: AbortSignal;
  #connection: HttpConnection | undefined;
  /** One bit per chunk it has, then one per chunk that is on its way to it. */
  #bits: Buffer | undefined;
  #isLooking = false;
  #failures = 0;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #gainedAt = performance.now();
  #nextLookAt = Number.NEGATIVE_INFINITY;
  #busyUntil = Number.NEGATIVE_INFINITY;
  #slowUntil = Number.NEGATIVE_INFINITY;

  constructor(url: string, root: string, transport: Transport, table: ChunkTable, signal: AbortSignal) {
    this.url = url;
    this.#base = `${url.replace(/\/$/, '')}/${root}`;
    this.#transport = transport;
    this.#table = table;
    this.#signal = signal;
  }

  get wasAsked(): boolean {
    return this.#nextLookAt !== Number.NEGATIVE_INFINITY;
  }

  /** Whether it counts when chunks are shared out. */
  get isPresent(): boolean {
    const now = performance.now();
    return now - this.#answeredAt < GONE_AFTER_MS && now > this.#slowUntil;
  }

  holds(index: number): boolean {
    return performance.now() > this.#busyUntil && this.#bit(index) === 1;
  }

  /** Whether it has the chunk, or will have it. */
  promises(index: number): boolean {
    const coming = Math.ceil(this.#table.count / 8) * 8 + index;
    return this.#bit(index) === 1 || this.#bit(coming) === 1;
  }

  /** How long it has got nothing new. */
  get idleMs(): number {
    return performance.now() - this.#gainedAt;
  }

  /** It holds the others up: for a while nobody waits for what it was to fetch. */
  passOver(forMs: number): void {
    this.#slowUntil = performance.now() + forMs;
  }

  /** Asks what it has, unless it was asked a moment ago or has just been silent. Never throws. */
  async look(everyMs: number): Promise<void> {
    if (this.#isLooking || performance.now() < this.#nextLookAt) return;
    this.#isLooking = true;
    this.#nextLookAt = performance.now() + everyMs;
    try {
      const bits = await this.#get('have', 2 * this.#table.count + 2, LOOK_MS);
      this.#answered();
      if (bits && !(this.#bits && bits.equals(this.#bits))) this.#gainedAt = performance.now();
      this.#bits = bits;
    } catch (thrown) {
      this.#silent(thrown);
    } finally {
      this.#isLooking = false;
    }
  }

  /** A chunk, verified; `wrong` if it sent something else, undefined if it has none for us now. */
  async fetch(index: number): Promise<FetchedChunk | 'wrong' | undefined> {
    const length = this.#table.rawLength(index);
    let stored: Buffer | undefined;
    try {
      stored = await this.#get(`chunks/${index}`, length + 65_536, CHUNK_MS);
      this.#answered();
    } catch (thrown) {
      if (thrown instanceof KindlingError && thrown.code === 'KND_IMAGE_SERVER_ERROR') {
        this.#busyUntil = performance.now() + BUSY_MS;
      } else {
        this.#silent(thrown);
      }
      return undefined;
    }
    if (!stored) return undefined;
    const raw = unpack(stored, length);
    if (!raw || !hasHash(raw, this.#table.rawHash(index))) return 'wrong';
    return { raw, wireBytes: stored.length };
  }

  close(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  #bit(at: number): number {
    return ((this.#bits?.[at >> 3] ?? 0) >> (at & 7)) & 1;
  }

  #answered(): void {
    this.#answeredAt = performance.now();
    this.#failures = 0;
  }

  /** Where nobody listens the answer costs nothing, and a node that only starts a moment later is soon found: it is asked at its next turn. */
  #silent(thrown: unknown): void {
    this.#bits = undefined;
    if (NOBODY.has((thrown as NodeJS.ErrnoException).code)) {
      this.#answeredAt = Number.NEGATIVE_INFINITY;
      return;
    }
    const leftOutMs = Math.min(LEFT_OUT_MS * 2 ** this.#failures, LEFT_OUT_AT_MOST_MS);
    this.#failures += 1;
    this.#nextLookAt = performance.now() + leftOutMs;
  }

  async #get(what: string, maxLength: number, timeoutMs: number): Promise<Buffer | undefined> {
    const kept = this.#connection;
    this.#connection = undefined;
    const ask = (connection: HttpConnection | undefined) =>
      getSmall(
        `${this.#base}/${what}`,
        {
          transport: this.#transport,
          connection,
          keepConnection: (used) => this.#keep(used),
          maxRedirects: 0,
          timeoutMs,
          signal: this.#signal,
        },
        maxLength,
      );
    // a kept connection may have been closed in the meantime, which says nothing of the neighbor
    if (kept?.isReusable) {
      const startedAt = performance.now();
      try {
        return await ask(kept);
      } catch (thrown) {
        const wasClosed = !(thrown instanceof KindlingError) && performance.now() - startedAt < timeoutMs;
        if (!wasClosed || this.#signal.aborted) throw thrown;
      }
    }
    return ask(undefined);
  }

  #keep(connection: HttpConnection): void {
    if (this.#connection || this.#signal.aborted) connection.destroy();
    else this.#connection = connection;
  }
}

function unpack(stored: Buffer, length: number): Buffer | undefined {
  try {
    return process.getBuiltinModule('node:zlib').zstdDecompressSync(stored, { maxOutputLength: length });
  } catch {
    return undefined;
  }
}
