import type { HostId } from '../../protocol/ids.ts';
/** What a node says when it serves the verified chunks of an image. */
export interface Announcement {
  /** Root of the image's manifest. */
  root: string;
  address: string;
  port: number;
  /** Neighbors that served it something that is not the chunk. */
  dropped: readonly string[];
}

interface Serving {
  root: string;
  url: string;
  /** Nodes of one place reach each other: those this server sees by their own address, or those behind the same NAT. */
  place: string;
  until: number;
  /** Hosts that got garbage from it. */
  accusers: Set<HostId>;
}

/** One host may be wrong or lie about another; two that say the same are believed. */
const ACCUSERS_BELIEVED = 2;
const NODES_PER_SECOND = 25;
const LONGEST_SILENCE_SECONDS = 10;

export interface NeighborsOptions {
  now: () => Date;
  /** A host that several others got garbage from. */
  onDropped: (hostId: HostId) => void;
}

/**
 * Which hosts serve chunks of which image right now. In memory only: hosts say it again every few seconds, so a restart or a
 * host that vanishes mends itself. Nothing here has to be trusted: who receives a chunk verifies it by the manifest.
 */
export class Neighbors {
  readonly #options: NeighborsOptions;
  readonly #serving = new Map<HostId, Serving>();

  constructor(options: NeighborsOptions) {
    this.#options = options;
  }

  /** Notes the host and names the others that serve the same image in the same place. */
  announce(
    hostId: HostId,
    { root, address, port, dropped }: Announcement,
    seenFrom: string,
  ): { neighbours: string[]; againSeconds: number } {
    this.#forgetTheSilent();
    const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
    const place = address === seenFrom ? '' : seenFrom;
    const before = this.#serving.get(hostId);
    const accusers = before?.url === url ? before.accusers : new Set<HostId>();
    const againSeconds = Math.min(
      Math.max(Math.ceil(this.#serving.size / NODES_PER_SECOND), 1),
      LONGEST_SILENCE_SECONDS,
    );
    const until = this.#options.now().getTime() + (3 * againSeconds + 5) * 1000;
    this.#serving.set(hostId, { root, url, place, until, accusers });
    for (const liar of dropped) this.#accuse(liar, hostId);
    const neighbors = [...this.#serving]
      .filter(([otherId, other]) => otherId !== hostId && other.root === root && other.place === place)
      .filter(([, other]) => other.accusers.size < ACCUSERS_BELIEVED && !other.accusers.has(hostId))
      .map(([, other]) => other.url);
    return { neighbours: neighbors, againSeconds };
  }

  leave(hostId: HostId): void {
    this.#serving.delete(hostId);
  }

  #accuse(url: string, by: HostId): void {
    for (const [hostId, serving] of this.#serving) {
      if (serving.url !== url || serving.accusers.has(by) || hostId === by) continue;
      serving.accusers.add(by);
      if (serving.accusers.size === ACCUSERS_BELIEVED) this.#options.onDropped(hostId);
    }
  }

  #forgetTheSilent(): void {
    const now = this.#options.now().getTime();
    for (const [hostId, { until }] of this.#serving) if (until < now) this.#serving.delete(hostId);
  }
}
