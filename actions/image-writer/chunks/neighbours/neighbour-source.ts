import { setTimeout as delay } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import type { HttpConnection } from '../../http/connection.ts';
import { getSmall } from '../../http/get.ts';
import type { Transport } from '../../interface.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { hasHash } from '../unpack-chunk.ts';
import { NeighbourList } from './neighbour-list.ts';
import { rankOwners } from './rank.ts';

const REFRESH_MS = 500;
const IDLE_MS = 150;
const NEIGHBOUR_STALL_MS = 5_000;

interface Neighbour {
  url: string;
  /** Bit per chunk it holds; undefined while it does not answer. */
  have: Buffer | undefined;
}

export interface NeighbourSettings {
  root: string;
  /** The memory of the NeighbourList. */
  list: SharedArrayBuffer;
  ownUrl: string;
  /** So long without any new chunk, and the origin is asked instead. */
  patienceMs: number;
}

/** Takes a chunk: its raw bytes and what they cost on the wire, or undefined for «ask the origin». */
type Take = (index: number, raw: Buffer | undefined, wireBytes: number) => Promise<void>;

/** Chunks from nodes that have them already. Everything is verified by its raw hash; whoever lies is dropped. */
export class NeighbourSource {
  readonly #settings: NeighbourSettings;
  readonly #transport: Transport;
  readonly #table: ChunkTable;
  readonly #list: NeighbourList;
  #neighbours: Neighbour[] = [];
  readonly #log: (message: string) => void;
  readonly #connections = new Map<string, HttpConnection>();
  #postponed: number[] = [];
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(
    settings: NeighbourSettings,
    transport: Transport,
    table: ChunkTable,
    log: (message: string) => void = () => {},
  ) {
    this.#settings = settings;
    // neighbours are on this LAN: no proxy, none of the origin's credentials, and little patience
    this.#transport = {
      stallTimeoutMs: NEIGHBOUR_STALL_MS,
      ...(transport.caCertificates ? { caCertificates: transport.caCertificates } : {}),
    };
    this.#table = table;
    this.#log = log;
    this.#list = new NeighbourList(settings.list);
  }

  /** Whether this node should fetch the chunk from the origin now. */
  async isMine(index: number): Promise<boolean> {
    await this.#refresh();
    return this.#choose(index) === 'origin';
  }

  postpone(index: number): void {
    this.#postponed.push(index);
  }

  /** Gets everything that was postponed, from whoever has it first. */
  async drain(take: Take): Promise<void> {
    let lastProgressAt = performance.now();
    while (this.#postponed.length > 0) {
      const round = shuffle(this.#postponed);
      this.#postponed = [];
      for (const index of round) {
        await this.#refresh(); // a round takes long where the uplink is thin, and nodes come and go meanwhile
        const isTired = performance.now() - lastProgressAt > this.#settings.patienceMs;
        const choice = isTired ? 'origin' : this.#choose(index);
        const fetched = typeof choice === 'object' ? await this.#fetch(choice, index) : undefined;
        if (choice === 'origin') await take(index, undefined, 0);
        else if (fetched) await take(index, fetched.raw, fetched.wireBytes);
        else this.#postponed.push(index);
        if (choice === 'origin' || fetched) lastProgressAt = performance.now();
      }
      if (this.#postponed.length === round.length) await delay(IDLE_MS);
    }
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.destroy();
  }

  #choose(index: number): Neighbour | 'origin' | 'wait' {
    const present = this.#neighbours.filter(({ have }) => have);
    const holders = present.filter(({ have }) => ((have?.[index >> 3] ?? 0) >> (index & 7)) & 1);
    const holder = holders[Math.floor(Math.random() * holders.length)];
    if (holder) return holder;
    const [owner] = rankOwners(index, [this.#settings.ownUrl, ...present.map(({ url }) => url)]);
    return owner === this.#settings.ownUrl ? 'origin' : 'wait';
  }

  async #refresh(): Promise<void> {
    if (performance.now() - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = performance.now();
    const known = new Map(this.#neighbours.map((neighbour) => [neighbour.url, neighbour]));
    this.#neighbours = this.#list
      .listed()
      .filter((url) => url !== this.#settings.ownUrl)
      .map((url) => known.get(url) ?? { url, have: undefined });
    await Promise.all(this.#neighbours.map((neighbour) => this.#askWhatItHas(neighbour)));
  }

  async #askWhatItHas(neighbour: Neighbour): Promise<void> {
    try {
      neighbour.have = await this.#get(neighbour, 'have', this.#table.count);
    } catch {
      neighbour.have = undefined;
    }
  }

  async #fetch(neighbour: Neighbour, index: number): Promise<{ raw: Buffer; wireBytes: number } | undefined> {
    const length = this.#table.rawLength(index);
    let stored: Buffer | undefined;
    try {
      stored = await this.#get(neighbour, `chunks/${index}`, length + 65_536);
    } catch {
      neighbour.have = undefined;
      return undefined;
    }
    if (!stored) return undefined;
    const raw = unpack(stored, length);
    if (raw && hasHash(raw, this.#table.rawHash(index))) return { raw, wireBytes: stored.length };
    neighbour.have = undefined;
    this.#list.drop(neighbour.url);
    this.#neighbours = this.#neighbours.filter((each) => each !== neighbour);
    this.#log(`${neighbour.url} served something that is not chunk ${index}: it is not asked again`);
    return undefined;
  }

  async #get(neighbour: Neighbour, what: string, maxLength: number): Promise<Buffer | undefined> {
    const url = `${neighbour.url.replace(/\/$/, '')}/${this.#settings.root}/${what}`;
    const known = this.#connections.get(neighbour.url);
    this.#connections.delete(neighbour.url);
    const options = {
      transport: this.#transport,
      connection: known,
      keepConnection: (connection: HttpConnection) => this.#connections.set(neighbour.url, connection),
      timeoutMs: NEIGHBOUR_STALL_MS,
    };
    return getSmall(url, options, maxLength);
  }
}

function unpack(stored: Buffer, length: number): Buffer | undefined {
  try {
    return zstdDecompressSync(stored, { maxOutputLength: length });
  } catch {
    return undefined;
  }
}

/** So that not everybody asks the same neighbour for the same chunk. */
function shuffle(indexes: readonly number[]): number[] {
  return indexes
    .map((index) => ({ index, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ index }) => index);
}
