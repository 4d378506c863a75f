import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { alignedMemory } from '../../target/aligned-memory.ts';
import { ALIGNMENT, type Target, tryReadRange } from '../../target/target.ts';
import type { Withheld } from '../../target/withheld.ts';
import { type ChunkTable, STATE } from '../chunk-table.ts';
import { hasHash } from '../unpack-chunk.ts';

const compress = promisify(zstdCompress);
/** Chunks in memory at a time, for all who ask, until they have been sent. */
const MAX_CONCURRENT = 2;
/** Who would have to wait longer than for these is told to ask somebody else. */
const MAX_WAITING = 4;
/** A taker that is slower than this for a chunk holds the others up. */
const SEND_MS = 15_000;
/** Longer than anybody pauses between two looks. */
const KEEP_ALIVE_MS = 30_000;

export interface Serving {
  table: ChunkTable;
  target: Target;
  /** Of the manifest. */
  root: string;
  /** As it is in the image; on the disk it has another partition table in the end. */
  firstChunk: Buffer;
  /** What is verified but not on the disk before the end: it is served from memory. */
  withheld: Withheld;
}

/**
 * Serves this node's verified chunks to its neighbors: `/<root>/have` (a bit per chunk that is here, then a bit per chunk that
 * is coming from the origin) and `/<root>/chunks/<n>` (one zstd frame; 503: others are being served). The receiver verifies by the signed manifest, so nothing here has to be trusted.
 */
export class NeighborServer {
  readonly #serving: Serving;
  readonly #table: ChunkTable;
  /** Chunks that are not on the disk as the manifest names them: a table that was moved over their end, a failing disk. */
  readonly #unfit = new Set<number>();
  #server: Server | undefined;
  #active = 0;
  #waiting: (() => void)[] = [];
  #lastAskedAt = performance.now();
  chunksServed = 0;

  constructor(serving: Serving) {
    this.#serving = serving;
    this.#table = serving.table;
  }

  get idleMs(): number {
    return performance.now() - this.#lastAskedAt;
  }

  /** Answers the port, which is a free one if 0 was asked for. */
  async listen(host: string, port: number): Promise<number> {
    const server = createServer((request, response) => {
      this.#lastAskedAt = performance.now();
      this.#answer(request.url ?? '', response).catch(() => response.destroy());
    });
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server = server;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject).listen(port, host, resolve);
    await promise;
    return (server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #answer(url: string, response: ServerResponse): Promise<void> {
    const [, root, what, number] = url.split('/');
    if (root !== this.#serving.root) return void response.writeHead(404).end();
    if (what === 'have') return void response.writeHead(200).end(this.#bitmap());
    const index = Number(number);
    const isThere = what === 'chunks' && this.#holds(index);
    if (!isThere) return void response.writeHead(404).end();
    if (this.#waiting.length >= MAX_WAITING) return void response.writeHead(503).end();
    await this.#turn();
    const tooSlow = setTimeout(() => response.destroy(), SEND_MS);
    try {
      const raw = this.#read(index);
      // a neighbor that got anything else would stop trusting us
      if (!hasHash(raw, this.#table.rawHash(index))) {
        this.#unfit.add(index);
        return void response.writeHead(404).end();
      }
      const frame = await compress(raw, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
      this.chunksServed += 1;
      response.writeHead(200, { 'content-length': frame.length }).end(frame);
      await finished(response);
    } finally {
      clearTimeout(tooSlow);
      this.#active -= 1;
      this.#waiting.shift()?.();
    }
  }

  #holds(index: number): boolean {
    const isHere = this.#table.states[index] === STATE.done && !this.#table.isZero(index);
    return isHere && !this.#unfit.has(index);
  }

  #bitmap(): Buffer {
    const { count, states } = this.#table;
    const bytes = Math.ceil(count / 8);
    const bits = Buffer.alloc(2 * bytes);
    const set = (at: number, index: number) => {
      bits[at + (index >> 3)] = (bits[at + (index >> 3)] ?? 0) | (1 << (index & 7));
    };
    for (let index = 0; index < count; index += 1) {
      if (this.#holds(index)) set(0, index);
      else if (states[index] === STATE.coming) set(bytes, index);
    }
    return bits;
  }

  #read(index: number): Buffer {
    const { target, firstChunk, withheld } = this.#serving;
    if (index === 0) return firstChunk;
    const position = this.#table.rawPosition(index);
    const length = this.#table.rawLength(index);
    const aligned = Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    const memory = alignedMemory(aligned);
    const found = tryReadRange(target, memory, position, aligned).subarray(0, length);
    return withheld.overlay(found, position);
  }

  async #turn(): Promise<void> {
    if (this.#active >= MAX_CONCURRENT) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    this.#active += 1;
  }
}
