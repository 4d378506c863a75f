import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates } from 'node:tls';
import { sendJson } from '../../../../net/send-json.ts';
import { KindlingError } from '../../../../protocol/error.ts';
import type { NeighborList } from './neighbor-list.ts';

const FIRST_ANSWER_MS = 5_000;
const AGAIN_AFTER_FAILURE_MS = 2_000;
const LONGEST_SILENCE_SECONDS = 60;

/** What a node says of itself, and what it is told. */
export interface Announcement {
  root: string;
  address: string;
  port: number;
  /** Neighbors that served this node something that is not the chunk. */
  dropped: string[];
}

/** What the orchestrator answers; the field keeps the spelling it has in the API. */
interface Directions {
  neighbours: string[];
  againSeconds: number;
}

/** The address by which this node reaches the orchestrator: the one its neighbors can reach, behind a NAT too. */
export async function addressToward(url: URL): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(
    { host: bare(url.hostname), port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) },
    () => resolve(socket.localAddress ?? ''),
  );
  socket.setTimeout(FIRST_ANSWER_MS, () => reject(new Error('no answer')));
  socket.once('error', reject);
  try {
    return (await promise).replace(/^::ffff:/, '');
  } finally {
    socket.destroy();
  }
}

/** Tells the orchestrator again and again that this node serves chunks, and keeps the list of who else does. */
export class NeighborDirectory {
  readonly #url: URL;
  readonly #ca: string[] | undefined;
  readonly #list: NeighborList;
  readonly #log: (message: string) => void;
  readonly #stop = new AbortController();
  #saying: Promise<void> = Promise.resolve();

  /** `ca`: PEM of who vouches for the image; who is believed in any case may vouch for the orchestrator as well. */
  constructor(url: string, ca: string | undefined, list: NeighborList, log: (message: string) => void) {
    this.#url = new URL(url);
    this.#ca = ca === undefined ? undefined : [...getCACertificates('default'), ca];
    this.#list = list;
    this.#log = log;
  }

  /** Resolves with the first list; from then on the list follows what the orchestrator says. */
  async join(own: Omit<Announcement, 'dropped'>): Promise<void> {
    const { againSeconds } = await this.#announce(own, AbortSignal.timeout(FIRST_ANSWER_MS));
    this.#saying = this.#goOn(own, againSeconds * 1000);
  }

  /** So that nobody waits for this node. An orchestrator that does not hear it finds out by itself. */
  async leave(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    await this.#saying;
    const signal = AbortSignal.timeout(FIRST_ANSWER_MS);
    await sendJson(this.#url, { method: 'DELETE', ca: this.#ca, signal }).catch(() => {});
  }

  async #goOn(own: Omit<Announcement, 'dropped'>, firstMs: number): Promise<void> {
    const { signal } = this.#stop;
    for (let waitMs = firstMs; !signal.aborted; ) {
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      try {
        waitMs = (await this.#announce(own, signal)).againSeconds * 1000;
      } catch (thrown) {
        if (signal.aborted) return;
        if (thrown instanceof KindlingError && !thrown.retryable) {
          this.#list.set([]);
          return this.#log(`no neighbors any more: ${thrown.message}`);
        }
        waitMs = AGAIN_AFTER_FAILURE_MS;
      }
    }
  }

  async #announce(own: Omit<Announcement, 'dropped'>, signal: AbortSignal): Promise<Directions> {
    const body: Announcement = { ...own, dropped: this.#list.dropped() };
    const { status, text } = await sendJson(this.#url, { method: 'POST', body, ca: this.#ca, signal });
    if (status !== 200) {
      throw new KindlingError(
        'KND_IMAGE_NEIGHBOURS',
        `${this.#url.host} names no neighbors (HTTP ${status})`,
        {
          retryable: status >= 500 || status === 429,
        },
      );
    }
    const directions = readDirections(text);
    this.#list.set(directions.neighbours);
    return directions;
  }
}

function readDirections(text: string): Directions {
  const { neighbours: urls, againSeconds } = JSON.parse(text) as Partial<Directions>;
  const isUsable = Array.isArray(urls) && typeof againSeconds === 'number' && againSeconds >= 0.1;
  if (!isUsable) throw new KindlingError('KND_IMAGE_NEIGHBOURS', 'the list of neighbors cannot be read');
  return {
    neighbours: urls.filter((url) => /^http:\/\/[\w.:[\]-]+$/.test(url)),
    againSeconds: Math.min(againSeconds, LONGEST_SILENCE_SECONDS),
  };
}

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');
