import type { HostId } from '../../protocol/ids.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { Host } from '../nodes/host.ts';
import type { Neighbors } from '../nodes/neighbors.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { deauthorizeHost } from '../nodes/registration.ts';
import type { Database } from '../store/database.ts';
import type { Workflows } from '../workflow/workflows.ts';

export interface RevocationOptions {
  database: Database;
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

  deauthorize(key: string): Host {
    const { database, nodes, now } = this.#options;
    return database.transaction(() => {
      this.#takeAway(nodes.find(key).id);
      return nodes.change(key, (host) => deauthorizeHost(host, now()));
    });
  }

  delete(key: string): void {
    const { database, nodes, workflows } = this.#options;
    database.transaction(() => {
      const host = nodes.find(key);
      this.#takeAway(host.id);
      workflows.forget(host.id);
      nodes.remove(host);
    });
  }

  #takeAway(hostId: HostId): void {
    const { database, credentials, neighbors, workflows } = this.#options;
    credentials.revoke(hostId);
    workflows.cancelAllOf(hostId, 'the node is no longer trusted');
    database.afterCommit(() => neighbors.leave(hostId));
  }
}
