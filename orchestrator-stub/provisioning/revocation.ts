import type { HostId } from '../../protocol/ids.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { Host } from '../nodes/host.ts';
import type { Neighbors } from '../nodes/neighbors.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { deauthorizeHost } from '../nodes/registration.ts';
import type { Store } from '../store/store.ts';
import type { Workflows } from '../workflow/workflows.ts';

export interface RevocationOptions {
  store: Store;
  nodes: Nodes;
  credentials: Credentials;
  neighbors: Neighbors;
  workflows: Workflows;
  now: () => Date;
}

/** Takes a node's trust away: its record, its credentials and its work change in one transaction or not at all. */
export class Revocation {
  readonly #options: RevocationOptions;

  constructor(options: RevocationOptions) {
    this.#options = options;
  }

  async deauthorize(key: string): Promise<Host> {
    const { store, nodes, now } = this.#options;
    return store.transaction(async () => {
      await this.#takeAway((await nodes.find(key)).id);
      return nodes.change(key, (host) => deauthorizeHost(host, now()));
    });
  }

  async delete(key: string): Promise<void> {
    const { store, nodes, workflows } = this.#options;
    await store.transaction(async () => {
      const host = await nodes.find(key);
      await this.#takeAway(host.id);
      workflows.forget(host.id);
      await nodes.remove(host);
    });
  }

  async #takeAway(hostId: HostId): Promise<void> {
    const { store, credentials, neighbors, workflows } = this.#options;
    await credentials.revoke(hostId);
    await workflows.cancelAllOf(hostId, 'the node is no longer trusted');
    store.afterCommit(() => neighbors.leave(hostId));
  }
}
