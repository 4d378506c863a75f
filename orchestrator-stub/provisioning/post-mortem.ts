import type { Host } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { awaitsFirstBoot, type Instance, markFallback, markFirstBootFailed } from '../nodes/instance.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import type { Database } from '../store/database.ts';
import { postMortemTemplate } from '../workflow/built-in.ts';
import { defineWorkflow } from '../workflow/definition.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';

export interface PostMortemOptions {
  database: Database;
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
  examine(host: Host, before: Instance): void {
    const { hosts, nodes, database, workflows, settings, now } = this.#options;
    if (workflows.latestOf(host.id)?.progress.finishedAt === null) return;
    database.transaction(() => {
      const instance = markFallback(before, now());
      hosts.saveInstance(instance);
      nodes.tell(host, 'fallback');
      const { actionRegistry, actionVersion } = settings();
      workflows.add(
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
  follow({ definition, progress }: StoredWorkflow): void {
    if (definition.template !== this.#template.name || !progress.finishedAt) return;
    const { hosts, nodes, now } = this.#options;
    const host = hosts.byId(definition.hostId);
    const instance = hosts.instance(definition.hostId);
    if (!host || !instance || !awaitsFirstBoot(instance)) return;
    const reason = progress.actions[0]?.message || `the post-mortem ended with ${progress.state}`;
    hosts.saveInstance(markFirstBootFailed(instance, reason, now()));
    nodes.tell(host, 'fallback');
  }
}
