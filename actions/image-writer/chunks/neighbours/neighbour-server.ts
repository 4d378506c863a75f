import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { alignedMemory } from '../../target/aligned-memory.ts';
import { ALIGNMENT, readRange, type Target } from '../../target/target.ts';
import { type ChunkTable, STATE } from '../chunk-table.ts';

const compress = promisify(zstdCompress);
/** Chunks in memory at a time, for all who ask: 8 MiB. */
const MAX_CONCURRENT = 2;

/**
 * Serves this node's verified chunks to its neighbours: `/<root>/have` (a bitmap) and `/<root>/chunks/<n>` (one zstd
 * frame). The receiver verifies by the signed manifest, so nothing here has to be trusted.
 */
export class NeighbourServer {
  readonly #table: ChunkTable;
  readonly #target: Target;
  readonly #root: string;
  readonly #withheld: () => Buffer | undefined;
  #server: Server | undefined;
  #active = 0;
  #waiting: (() => void)[] = [];
  #lastAskedAt = performance.now();
  chunksServed = 0;

  /** `withheld` gives chunk 0 while its first MiB is not on the disk. */
  constructor(table: ChunkTable, target: Target, root: string, withheld: () => Buffer | undefined) {
    this.#table = table;
    this.#target = target;
    this.#root = root;
    this.#withheld = withheld;
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
    if (root !== this.#root) return void response.writeHead(404).end();
    if (what === 'have') return void response.writeHead(200).end(this.#bitmap());
    const index = Number(number);
    const isThere = what === 'chunks' && this.#holds(index);
    if (!isThere) return void response.writeHead(404).end();
    await this.#turn();
    try {
      const frame = await compress(this.#read(index), { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
      this.chunksServed += 1;
      response.writeHead(200, { 'content-length': frame.length }).end(frame);
    } finally {
      this.#active -= 1;
      this.#waiting.shift()?.();
    }
  }

  #holds(index: number): boolean {
    return this.#table.states[index] === STATE.done && !this.#table.isZero(index);
  }

  #bitmap(): Buffer {
    const bits = Buffer.alloc(Math.ceil(this.#table.count / 8));
    for (let index = 0; index < this.#table.count; index += 1) {
      if (this.#holds(index)) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
    }
    return bits;
  }

  #read(index: number): Buffer {
    const withheld = index === 0 ? this.#withheld() : undefined;
    if (withheld) return withheld;
    const length = this.#table.rawLength(index);
    const aligned = Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    return readRange(this.#target, alignedMemory(aligned), this.#table.rawPosition(index), aligned).subarray(
      0,
      length,
    );
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
