import { status } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { markProvisioned } from '../nodes/instance.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { isStandalone, type Profile } from '../nodes/profile.ts';
import type { Database } from '../store/database.ts';
import type { DocumentTable } from '../store/document-table.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import { provisioningStatus } from './status-text.ts';

export interface StatusProjectionOptions {
  database: Database;
  hosts: HostTable;
  nodes: Nodes;
  profiles: DocumentTable<Profile>;
  now: () => Date;
}

/** The status of a host and its instance follow the workflow that provisions it, in the workflow's own transaction. */
export class StatusProjection {
  readonly #options: StatusProjectionOptions;
  /** What each host's status says while its workflow runs, as it was committed. */
  readonly #shown = new Map<string, string>();

  constructor(options: StatusProjectionOptions) {
    this.#options = options;
  }

  /** A workflow has moved. */
  follow({ definition, progress }: StoredWorkflow): void {
    const { hosts, nodes, database, now } = this.#options;
    const { hostId, generation } = definition;
    if (generation === 0) return;
    const { text, indicator } = provisioningStatus(definition, progress);
    // Most reports only carry progress: the host's line stays the same and nothing needs to be read or written.
    if (this.#shown.get(hostId) === text) return;
    database.afterCommit(() => {
      if (progress.finishedAt) this.#shown.delete(hostId);
      else this.#shown.set(hostId, text);
    });
    const host = hosts.byId(hostId);
    const instance = hosts.instance(hostId);
    if (!host || !instance || instance.generation !== generation) return;
    if (progress.state === 'SUCCESS') {
      hosts.saveInstance(markProvisioned(instance, generation, now()));
      const text = this.#reboots(instance.profile) ? 'Rebooting' : 'Provisioned';
      nodes.change(
        hostId,
        (each) => ({ ...each, hostStatus: status(text, 'IN_PROGRESS', now()) }),
        'provisioned',
      );
      return;
    }
    if (instance.provisioningStatus.text === text) return;
    hosts.saveInstance({ ...instance, provisioningStatus: status(text, indicator, now()) });
    nodes.tell(host, 'changed');
  }

  #reboots(profileName: string): boolean {
    const profile = this.#options.profiles.get(profileName);
    return !profile || !isStandalone(profile);
  }
}
