import { setTimeout as delay } from 'node:timers/promises';
import type { Transport } from '../../interface.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { Neighbour } from './neighbour.ts';
import { NeighbourList } from './neighbour-list.ts';
import { rankOwners } from './rank.ts';

/** How often neighbours are asked what they have; with many of them more seldom, so that asking is not the main work. */
const LOOK_EVERY_MS = 500;
const LOOK_EVERY_MS_PER_NEIGHBOUR = 40;
/** Work waits so long for a neighbour that was never asked before, and for no other. */
const FIRST_LOOK_MS = 1_000;
const IDLE_MS = 150;

export interface NeighbourSettings {
  root: string;
  /** The memory of the NeighbourList. */
  list: SharedArrayBuffer;
  ownUrl: string;
  /** A neighbour that gets nothing for so long is not waited for. */
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
  readonly #log: (message: string) => void;
  readonly #closed = new AbortController();
  #neighbours: Neighbour[] = [];
  #postponed: number[] = [];

  constructor(
    settings: NeighbourSettings,
    transport: Transport,
    table: ChunkTable,
    log: (message: string) => void = () => {},
  ) {
    this.#settings = settings;
    // neighbours are on this LAN: no proxy, and none of the origin's credentials
    this.#transport = transport.caCertificates ? { caCertificates: transport.caCertificates } : {};
    this.#table = table;
    this.#log = log;
    this.#list = new NeighbourList(settings.list);
  }

  /** Whether this node should fetch the chunk from the origin now. */
  async isMine(index: number): Promise<boolean> {
    await this.#look();
    return this.#choose(index) === 'origin';
  }

  postpone(index: number): void {
    this.#postponed.push(index);
  }

  /** Gets everything that was postponed, from whoever has it first. */
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
    for (const neighbour of this.#neighbours) neighbour.close();
  }

  #choose(index: number): Neighbour | 'origin' | 'wait' {
    const holders = this.#neighbours.filter((neighbour) => neighbour.holds(index));
    const holder = holders[Math.floor(Math.random() * holders.length)];
    if (holder) return holder;
    for (;;) {
      const present = this.#neighbours.filter(({ isPresent }) => isPresent);
      const promised = present.find((neighbour) => neighbour.promises(index));
      const [owner] = rankOwners(index, [this.#settings.ownUrl, ...present.map(({ url }) => url)]);
      const awaited = promised ?? present.find(({ url }) => url === owner);
      if (!awaited) return 'origin';
      if (awaited.idleMs < this.#settings.patienceMs) return 'wait';
      this.#log(`${awaited.url} has got nothing for long: it is not waited for`);
      awaited.passOver(this.#settings.patienceMs);
    }
  }

  /** Looks at everybody whose turn it is; only a neighbour nobody has asked before is waited for, and not for long. */
  async #look(): Promise<void> {
    this.#followList();
    const everyMs = Math.max(LOOK_EVERY_MS, this.#neighbours.length * LOOK_EVERY_MS_PER_NEIGHBOUR);
    const strangers = this.#neighbours.filter(({ wasAsked }) => !wasAsked);
    const looks = new Map(this.#neighbours.map((neighbour) => [neighbour, neighbour.look(everyMs)]));
    if (strangers.length === 0) return;
    await Promise.race([
      Promise.all(strangers.map((neighbour) => looks.get(neighbour))),
      delay(FIRST_LOOK_MS, undefined, { ref: false }),
    ]);
  }

  #followList(): void {
    const known = new Map(this.#neighbours.map((neighbour) => [neighbour.url, neighbour]));
    const { root, ownUrl } = this.#settings;
    const { signal } = this.#closed;
    this.#neighbours = this.#list
      .listed()
      .filter((url) => url !== ownUrl)
      .map((url) => known.get(url) ?? new Neighbour(url, root, this.#transport, this.#table, signal));
  }

  async #fetch(neighbour: Neighbour, index: number) {
    const fetched = await neighbour.fetch(index);
    if (fetched !== 'wrong') return fetched;
    this.#list.drop(neighbour.url);
    this.#followList();
    this.#log(`${neighbour.url} served something that is not chunk ${index}: it is not asked again`);
    return undefined;
  }
}
