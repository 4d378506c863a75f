import { isIPv6 } from 'node:net';
import { toKindlingError } from '../../../../protocol/error.ts';
import { waitFor } from '../../../../system/wait.ts';
import type { NeighborOptions } from '../../interface.ts';
import { addressToward, NeighborDirectory } from './neighbor-directory.ts';
import { NeighborList } from './neighbor-list.ts';
import { NeighborServer, type Serving } from './neighbor-server.ts';
import type { NeighborSettings } from './neighbor-source.ts';

const DEFAULT_PATIENCE_MS = 60_000;
/** Nobody asked for so long: nobody needs us any more. */
const QUIET_MS = 3_000;

/** This node's place among its neighbors: what it serves, and whom the workers may ask. */
export class Neighborhood {
  readonly #options: NeighborOptions;
  readonly #root: string;
  readonly #server: NeighborServer;
  readonly #list = new NeighborList();
  readonly #ca: string | undefined;
  readonly #log: (message: string) => void;
  #directory: NeighborDirectory | undefined;
  #ownUrl = '';

  constructor(
    options: NeighborOptions,
    serving: Serving,
    ca: string | undefined,
    log: (message: string) => void,
  ) {
    this.#options = options;
    this.#root = serving.root;
    this.#ca = ca;
    this.#log = log;
    this.#server = new NeighborServer(serving);
  }

  /** For the threads that fetch; whole once it is open. */
  get settings(): NeighborSettings {
    return {
      root: this.#root,
      list: this.#list.memory,
      ownUrl: this.#ownUrl,
      patienceMs: DEFAULT_PATIENCE_MS,
    };
  }

  /** Takes the place; false if there is none to take, which is no reason not to write the image. */
  async open(): Promise<boolean> {
    const { listen, urls, ownUrl, directoryUrl } = this.#options;
    if (directoryUrl === undefined) {
      await this.#server.listen(listen.host ?? '', listen.port);
      this.#ownUrl = ownUrl ?? '';
      this.#list.set(urls ?? []);
      return true;
    }
    try {
      await this.#join(directoryUrl, listen.port);
      return true;
    } catch (thrown) {
      this.#log(`without neighbors: ${toKindlingError(thrown).message}`);
      this.#server.close();
      return false;
    }
  }

  /** Goes on serving until nobody asks any more, at most as long as the request says. */
  async linger(signal?: AbortSignal): Promise<void> {
    const until = performance.now() + (this.#options.lingerMs ?? 0);
    const isOver = () => (performance.now() > until || this.#server.idleMs > QUIET_MS ? true : undefined);
    await waitFor(isOver, {
      name: 'neighbors that still fetch chunks from this node',
      timeoutMs: (this.#options.lingerMs ?? 0) + QUIET_MS,
      ...(signal ? { signal } : {}),
    });
  }

  async close(): Promise<void> {
    await this.#directory?.leave();
    this.#server.close();
  }

  /** The place is known by where the orchestrator is, then served, and only then announced. */
  async #join(directoryUrl: string, wantedPort: number): Promise<void> {
    const address = await addressToward(new URL(directoryUrl));
    const port = await this.#server.listen(address, wantedPort);
    this.#ownUrl = `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
    const directory = new NeighborDirectory(directoryUrl, this.#ca, this.#list, this.#log);
    await directory.join({ root: this.#root, address, port });
    this.#directory = directory;
  }
}
