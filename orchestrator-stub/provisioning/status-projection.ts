import type { HostId } from '../../protocol/ids.ts';
import { status } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { markProvisioned } from '../nodes/instance.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { type Profile, reportsFirstBoot } from '../nodes/profile.ts';
import type { DocumentTable } from '../store/document-table.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import { provisioningStatus } from './status-text.ts';

/** What a machine does whose system will report. */
const WHAT_FOLLOWS = {
  reboot: 'Rebooting',
  poweroff: 'Switched off',
  stay: 'Waiting in the Micro-OS',
} as const;

export interface StatusProjectionOptions {
  store: Store;
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
  readonly #channel: Channel<{ hostId: HostId; text: string | null }>;

  constructor(options: StatusProjectionOptions) {
    this.#options = options;
    this.#channel = new Channel(options.store, 'status-shown', ({ hostId, text }) => {
      if (text === null) this.#shown.delete(hostId);
      else this.#shown.set(hostId, text);
    });
  }

  /** A workflow has moved. */
  async follow({ definition, progress }: StoredWorkflow): Promise<void> {
    const { hosts, nodes, now } = this.#options;
    const { hostId, generation } = definition;
    if (generation === 0) return;
    const { text, indicator } = provisioningStatus(definition, progress);
    // Most reports only carry progress: the host's line stays the same and nothing needs to be read or written.
    if (this.#shown.get(hostId) === text) return;
    this.#channel.tell({ hostId, text: progress.finishedAt ? null : text });
    const host = await hosts.byId(hostId);
    const instance = await hosts.instance(hostId);
    if (!host || !instance || instance.generation !== generation) return;
    if (progress.state === 'SUCCESS') {
      const profile = await this.#options.profiles.get(instance.profile);
      const isDone = profile !== undefined && !reportsFirstBoot(profile);
      await hosts.saveInstance(markProvisioned(instance, generation, now(), { isStandalone: isDone }));
      const text = isDone ? 'Provisioned' : WHAT_FOLLOWS[profile?.after ?? 'reboot'];
      await nodes.change(
        hostId,
        (each) => ({ ...each, hostStatus: status(text, 'IN_PROGRESS', now()) }),
        'provisioned',
      );
      return;
    }
    if (instance.provisioningStatus.text === text) return;
    await hosts.saveInstance({ ...instance, provisioningStatus: status(text, indicator, now()) });
    await nodes.tell(host, 'changed');
  }
}
