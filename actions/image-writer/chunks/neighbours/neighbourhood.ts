import { waitFor } from '../../../../agent/system/wait.ts';
import type { NeighbourOptions } from '../../interface.ts';
import type { Target } from '../../target/target.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { NeighbourServer } from './neighbour-server.ts';
import type { NeighbourSettings } from './neighbour-source.ts';

const DEFAULT_PATIENCE_MS = 30_000;
/** Nobody asked for so long: nobody needs us any more. */
const QUIET_MS = 3_000;

/** This node's place among its neighbours: what it serves, and whom the workers may ask. */
export class Neighbourhood {
  readonly settings: NeighbourSettings;
  readonly #options: NeighbourOptions;
  readonly #server: NeighbourServer;

  constructor(
    options: NeighbourOptions,
    table: ChunkTable,
    target: Target,
    root: string,
    firstChunk: () => Buffer | undefined,
  ) {
    this.#options = options;
    this.#server = new NeighbourServer(table, target, root, firstChunk);
    this.settings = { root, urls: options.urls, ownUrl: options.ownUrl, patienceMs: DEFAULT_PATIENCE_MS };
  }

  async open(): Promise<void> {
    await this.#server.listen(this.#options.listen.host, this.#options.listen.port);
  }

  /** Goes on serving until nobody asks any more, at most as long as the request says. */
  async linger(signal?: AbortSignal): Promise<void> {
    const until = performance.now() + (this.#options.lingerMs ?? 0);
    const isOver = () => (performance.now() > until || this.#server.idleMs > QUIET_MS ? true : undefined);
    await waitFor(isOver, {
      name: 'neighbours that still fetch chunks from this node',
      timeoutMs: (this.#options.lingerMs ?? 0) + QUIET_MS,
      ...(signal ? { signal } : {}),
    });
  }

  close(): void {
    this.#server.close();
  }
}
