import { setTimeout as delay } from 'node:timers/promises';
import type { Transport } from '../../interface.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { Neighbor } from './neighbor.ts';
import { NeighborList } from './neighbor-list.ts';
import { rankOwners } from './rank.ts';

/** How often neighbors are asked what they have; with many of them more seldom, so that asking is not the main work. */
const LOOK_EVERY_MS = 500;
const LOOK_EVERY_MS_PER_NEIGHBOR = 40;
/** Work waits so long for a neighbor that was never asked before, and for no other. */
const FIRST_LOOK_MS = 1_000;
const IDLE_MS = 150;

export interface NeighborSettings {
  root: string;
  /** The memory of the NeighborList. */
  list: SharedArrayBuffer;
  ownUrl: string;
  /** A neighbor that gets nothing for so long is not waited for. */
  patienceMs: number;
}

/** Takes a chunk: its raw bytes and what they cost on the wire, or undefined for "ask the origin". */
type Take = (index: number, raw: Buffer | undefined, wireBytes: number) => Promise<void>;

/** Chunks from nodes that have them already. Each chunk is verified by its raw hash; a neighbor that sends anything else is dropped. */
export class NeighborSource {
  readonly #settings: NeighborSettings;
  readonly #transport: Transport;
  readonly #table: ChunkTable;
  readonly #list: NeighborList;
  readonly #log: (message: string) => void;
  readonly #closed = new AbortController();
  #neighbors: Neighbor[] = [];
  #postponed: number[] = [];

  constructor(
    settings: NeighborSettings,
    transport: Transport,
    table: ChunkTable,
    log: (message: string) => void = () => {},
  ) {
    this.#settings = settings;
    // neighbors are on this LAN: no proxy, and none of the origin's credentials
    this.#transport = transport.caCertificates ? { caCertificates: transport.caCertificates } : {};
    this.#table = table;
    this.#log = log;
    this.#list = new NeighborList(settings.list);
  }

  /** Whether this node should fetch the chunk from the origin now. */
  async isMine(index: number): Promise<boolean> {
    await this.#look();
    return this.#choose(index) === 'origin';
  }

  postpone(index: number): void {
    this.#postponed.push(index);
  }

  /** Gets everything that was postponed, from the first node that has it. */
  async drain(take: Take): Promise<void> {
    while (this.#postponed.length > 0) {
      const round = this.#postponed;
      this.#postponed = [];
      for (const index of round) {
        await this.#look(); // a round takes long where the uplink is thin, and nodes come and go meanwhile
        const choice = this.#choose(index);
        const fetched = typeof choice === 'object' ? await this.#fetch(choice, index) : undefined;
        if (choice === 'origin') await take(index, undefined, 0);
        else if (fetched) await take(index, fetched.raw, fetched.wireBytes);
        else this.#postponed.push(index);
      }
      if (this.#postponed.length === round.length) await delay(IDLE_MS);
    }
  }

  close(): void {
    this.#closed.abort();
    for (const neighbor of this.#neighbors) neighbor.close();
  }

  #choose(index: number): Neighbor | 'origin' | 'wait' {
    const holders = this.#neighbors.filter((neighbor) => neighbor.holds(index));
    const holder = holders[Math.floor(Math.random() * holders.length)];
    if (holder) return holder;
    for (;;) {
      const present = this.#neighbors.filter(({ isPresent }) => isPresent);
      const promised = present.find((neighbor) => neighbor.promises(index));
      const [owner] = rankOwners(index, [this.#settings.ownUrl, ...present.map(({ url }) => url)]);
      const awaited = promised ?? present.find(({ url }) => url === owner);
      if (!awaited) return 'origin';
      if (awaited.idleMs < this.#settings.patienceMs) return 'wait';
      this.#log(`${awaited.url} has got nothing for long: it is not waited for`);
      awaited.passOver(this.#settings.patienceMs);
    }
  }

  /** Looks at everybody whose turn it is; only a neighbor nobody has asked before is waited for, and not for long. */
  async #look(): Promise<void> {
    this.#followList();
    const everyMs = Math.max(LOOK_EVERY_MS, this.#neighbors.length * LOOK_EVERY_MS_PER_NEIGHBOR);
    const strangers = this.#neighbors.filter(({ wasAsked }) => !wasAsked);
    const looks = new Map(this.#neighbors.map((neighbor) => [neighbor, neighbor.look(everyMs)]));
    if (strangers.length === 0) return;
    await Promise.race([
      Promise.all(strangers.map((neighbor) => looks.get(neighbor))),
      delay(FIRST_LOOK_MS, undefined, { ref: false }),
    ]);
  }

  #followList(): void {
    const known = new Map(this.#neighbors.map((neighbor) => [neighbor.url, neighbor]));
    const { root, ownUrl } = this.#settings;
    const { signal } = this.#closed;
    this.#neighbors = this.#list
      .listed()
      .filter((url) => url !== ownUrl)
      .map((url) => known.get(url) ?? new Neighbor(url, root, this.#transport, this.#table, signal));
  }

  async #fetch(neighbor: Neighbor, index: number) {
    const fetched = await neighbor.fetch(index);
    if (fetched !== 'wrong') return fetched;
    this.#list.drop(neighbor.url);
    this.#followList();
    this.#log(`${neighbor.url} served something that is not chunk ${index}: it is not asked again`);
    return undefined;
  }
}
