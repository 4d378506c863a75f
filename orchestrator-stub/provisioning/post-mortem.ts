import type { HostId } from '../../protocol/ids.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { awaitsFirstBoot, markFallback, markFirstBootFailed } from '../nodes/instance.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import type { Store } from '../store/store.ts';
import { postMortemTemplate } from '../workflow/built-in.ts';
import { defineWorkflow } from '../workflow/definition.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';

export interface PostMortemOptions {
  store: Store;
  hosts: HostTable;
  nodes: Nodes;
  workflows: Workflows;
  settings: () => SiteSettings;
  now: () => Date;
}

/** Finds out why an installed system did not report: the node looks at its own disk, which is never written again for it. */
export class PostMortem {
  readonly #options: PostMortemOptions;
  readonly #template = postMortemTemplate();

  constructor(options: PostMortemOptions) {
    this.#options = options;
  }

  /** The node is back although its system should be running. */
  async examine(hostId: HostId): Promise<void> {
    const { hosts, nodes, store, workflows, settings, now } = this.#options;
    await store.transaction(async () => {
      const host = await hosts.byId(hostId);
      const before = await hosts.instance(hostId);
      if (!host || !before || !awaitsFirstBoot(before)) return;
      const finishedAt = (await workflows.latestOf(hostId))?.progress.finishedAt;
      if (finishedAt === null) return;
      const awayMs = now().getTime() - Date.parse(finishedAt ?? before.provisioningStatus.at);
      const instance = markFallback(before, Math.round(awayMs / 1000), now());
      await hosts.saveInstance(instance);
      await nodes.tell(host, 'fallback');
      const { actionRegistry, actionVersion } = settings();
      await workflows.add(
        defineWorkflow({
          id: `post-mortem-${host.uuid ?? host.id}-g${instance.generation}-${instance.fallbacks}`,
          hostId: host.id,
          generation: 0,
          template: this.#template,
          data: {
            DeviceInfoHwMacID: host.reportedMac ?? '',
            PostMortemImage: `${actionRegistry}/post-mortem:${actionVersion}`,
          },
          now: now(),
        }),
      );
    });
  }

  /** A workflow has moved: if it is the post-mortem and has an answer, the host shows it. */
  async follow({ definition, progress }: StoredWorkflow): Promise<void> {
    if (definition.template !== this.#template.name || !progress.finishedAt) return;
    const { hosts, nodes, now } = this.#options;
    const host = await hosts.byId(definition.hostId);
    const instance = await hosts.instance(definition.hostId);
    if (!host || !instance || !awaitsFirstBoot(instance)) return;
    const reason = progress.actions[0]?.message || `the post-mortem ended with ${progress.state}`;
    await hosts.saveInstance(markFirstBootFailed(instance, reason, now()));
    await nodes.tell(host, 'fallback');
  }
}
