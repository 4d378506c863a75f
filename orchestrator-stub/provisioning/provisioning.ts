import { randomBytes } from 'node:crypto';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { type Host, status } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import {
  awaitsFirstBoot,
  createInstance,
  type Instance,
  markBootOrder,
  markFallback,
  markFirstBoot,
  markFirstBootFailed,
  markProvisioned,
  needsProvisioning,
  nextGeneration,
} from '../nodes/instance.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { isStandalone, type Profile, templateOf } from '../nodes/profile.ts';
import { reopenOnboarding } from '../nodes/registration.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import type { Database } from '../store/database.ts';
import type { DocumentTable } from '../store/document-table.ts';
import { resourceId } from '../store/identifiers.ts';
import { postMortemTemplate, type Template } from '../workflow/built-in.ts';
import { defineWorkflow } from '../workflow/definition.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { ImageFormats } from './image-format.ts';
import { templateData } from './inputs.ts';
import { provisioningStatus } from './status-text.ts';

export interface ProvisioningOptions {
  database: Database;
  hosts: HostTable;
  nodes: Nodes;
  profiles: DocumentTable<Profile>;
  template: (name: string) => Template;
  credentials: Credentials;
  workflows: () => Workflows;
  settings: () => SiteSettings;
  hasNeighbours: () => boolean;
  ca: () => string;
  origin: () => string;
  now: () => Date;
  onFailure: (thrown: unknown) => void;
}

const POST_MORTEM = 'post-mortem';

/** Brings onboarded hosts to the system they should run: instance → workflow → first boot. */
export class Provisioning {
  readonly #options: ProvisioningOptions;
  readonly #formats = new ImageFormats();
  /** What each host's status says while its workflow runs. */
  readonly #shown = new Map<string, string>();

  constructor(options: ProvisioningOptions) {
    this.#options = options;
  }

  /** Does whatever the host is ready for, in the background. Safe to call at any time and any number of times. */
  advance(hostId: string): void {
    this.#advance(hostId).catch((thrown: unknown) => {
      this.#options.onFailure(thrown);
      this.#fail(hostId, thrown);
    });
  }

  /** Chooses the system of a host that has none yet (manual mode), or before it has connected. */
  provision(key: string, profileName: string): Instance {
    const { nodes, hosts, database } = this.#options;
    this.profile(profileName);
    const host = nodes.find(key);
    if (hosts.instance(host.id)) {
      throw new KindlingError('KND_NODE_STATE', `${host.name} already has a system`, {
        hint: 'To write its disk anew, use «kindling node reprovision».',
      });
    }
    const instance = database.transaction(() => this.#createInstance(host, profileName));
    this.advance(host.id);
    return instance;
  }

  /** A new generation: the node may come in again and its disk is written once more. */
  reprovision(key: string, profileName?: string): Instance {
    const { nodes, hosts, database, now, workflows } = this.#options;
    if (profileName) this.profile(profileName);
    return database.transaction(() => {
      const host = nodes.find(key);
      if (host.currentState === 'UNTRUSTED' || !host.isRegistered) {
        throw new KindlingError('KND_NODE_STATE', `${host.name} is not a node that may be provisioned`);
      }
      const before = hosts.instance(host.id);
      if (!before) {
        const name = profileName ?? this.#defaultProfileOf(host);
        if (!name)
          throw new KindlingError('KND_NODE_STATE', `${host.name} has no system yet; name a profile`);
        return this.#createInstance(host, name);
      }
      workflows().cancelAllOf(host.id, `replaced by generation ${before.generation + 1}`);
      const firstBootKey = randomBytes(16).toString('hex');
      const instance = nextGeneration(
        before,
        { ...(profileName ? { profile: profileName } : {}), firstBootKey },
        now(),
      );
      hosts.saveInstance(instance);
      nodes.change(host.id, (each) => reopenOnboarding(each, now()));
      return instance;
    });
  }

  /** The installed system has booted. Returns the host. */
  firstBoot(key: string): Host {
    const { hosts, nodes, database, now } = this.#options;
    return database.transaction(() => {
      const instance = hosts.instanceByFirstBootKey(key);
      if (!instance) throw new KindlingError('KND_API_NOT_FOUND', 'there is no such first boot to report');
      hosts.saveInstance(markFirstBoot(instance, now()));
      return nodes.change(
        instance.hostId,
        (host) => ({
          ...host,
          hostStatus: status('Running', 'IDLE', now()),
          lastSeenAt: now().toISOString(),
        }),
        'running',
      );
    });
  }

  /** The installed system leads the boot order from now on. */
  bootOrderCommitted(key: string): Host {
    const { hosts, nodes, database, now } = this.#options;
    return database.transaction(() => {
      const instance = hosts.instanceByFirstBootKey(key);
      if (!instance) throw new KindlingError('KND_API_NOT_FOUND', 'there is no such first boot to report');
      hosts.saveInstance(markBootOrder(instance, now()));
      const host = nodes.find(instance.hostId);
      nodes.tell(host, 'committed');
      return host;
    });
  }

  /** A workflow has moved: its host's status follows. */
  follow(workflow: StoredWorkflow): void {
    const { definition, progress } = workflow;
    const { hosts, nodes, database, now } = this.#options;
    if (definition.template === POST_MORTEM) this.#followPostMortem(workflow);
    if (definition.generation === 0) return;
    const { text, indicator } = provisioningStatus(definition, progress);
    // Most reports only carry progress: the host's line stays the same and nothing needs to be read or written.
    if (this.#shown.get(definition.hostId) === text) return;
    if (progress.finishedAt) this.#shown.delete(definition.hostId);
    else this.#shown.set(definition.hostId, text);
    database.transaction(() => {
      const host = hosts.byId(definition.hostId);
      const instance = hosts.instance(definition.hostId);
      if (!host || !instance || instance.generation !== definition.generation) return;
      if (progress.state === 'SUCCESS') {
        hosts.saveInstance(markProvisioned(instance, definition.generation, now()));
        const profile = this.#options.profiles.get(instance.profile);
        const reboots = !profile || !isStandalone(profile);
        nodes.change(
          host.id,
          (each) => ({
            ...each,
            hostStatus: status(reboots ? 'Rebooting' : 'Provisioned', 'IN_PROGRESS', now()),
          }),
          'provisioned',
        );
        return;
      }
      if (instance.provisioningStatus.text === text) return;
      hosts.saveInstance({ ...instance, provisioningStatus: status(text, indicator, now()) });
      nodes.tell(host, 'changed');
    });
  }

  profile(name: string): Profile {
    const profile = this.#options.profiles.get(name);
    if (!profile) throw new KindlingError('KND_PROFILE_UNKNOWN', `there is no profile ${name}`);
    return profile;
  }

  async #advance(hostId: string): Promise<void> {
    const { hosts, database } = this.#options;
    const host = hosts.byId(hostId);
    if (host?.currentState !== 'ONBOARDED' || !host.reportedMac) return;
    const instance = database.transaction(() => {
      const existing = hosts.instance(hostId);
      if (existing) return existing;
      const profile = this.#defaultProfileOf(host);
      return profile ? this.#createInstance(host, profile) : undefined;
    });
    if (instance && awaitsFirstBoot(instance)) this.#examine(host, instance);
    if (!instance || !needsProvisioning(instance)) return;
    const isQcow2 = await this.#formats.isQcow2(this.profile(instance.profile));
    this.#startWorkflow(hostId, isQcow2);
  }

  /** Everything is read again: the question about the image may have taken a while. */
  #startWorkflow(hostId: string, isQcow2: boolean): void {
    const { hosts, database, credentials, now, settings, hasNeighbours, ca, origin } = this.#options;
    const workflows = this.#options.workflows();
    database.transaction(() => {
      const host = hosts.byId(hostId);
      const instance = hosts.instance(hostId);
      if (host?.currentState !== 'ONBOARDED' || !instance || !needsProvisioning(instance)) return;
      const id = `workflow-${host.uuid ?? host.id}-g${instance.generation}`;
      if (workflows.find(id)) return;
      const profile = this.profile(instance.profile);
      const data = templateData({
        host,
        instance,
        profile,
        settings: settings(),
        hasNeighbours: hasNeighbours(),
        inventory: hosts.inventory(hostId),
        client: credentials.issue(host, now()),
        isQcow2,
        ca: ca(),
        origin: hosts.origin(hostId) ?? origin(),
      });
      const template = this.#options.template(templateOf(profile));
      workflows.add(
        defineWorkflow({ id, hostId, generation: instance.generation, template, data, now: now() }),
      );
    });
  }

  /** The node is back although its system should be running. It is asked why; the disk of this generation is never written again. */
  #examine(host: Host, before: Instance): void {
    const { hosts, nodes, database, settings, now } = this.#options;
    const workflows = this.#options.workflows();
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
          template: postMortemTemplate(),
          data: {
            DeviceInfoHwMacID: host.reportedMac ?? '',
            PostMortemImage: `${actionRegistry}/post-mortem:${actionVersion}`,
          },
          now: now(),
        }),
      );
    });
  }

  #followPostMortem({ definition, progress }: StoredWorkflow): void {
    const { hosts, nodes, now } = this.#options;
    const host = hosts.byId(definition.hostId);
    const instance = hosts.instance(definition.hostId);
    if (!progress.finishedAt || !host || !instance || !awaitsFirstBoot(instance)) return;
    const reason = progress.actions[0]?.message || `the post-mortem ended with ${progress.state}`;
    hosts.saveInstance(markFirstBootFailed(instance, reason, now()));
    nodes.tell(host, 'fallback');
  }

  #createInstance(host: Host, profile: string): Instance {
    const { hosts, nodes, now } = this.#options;
    const firstBootKey = randomBytes(16).toString('hex');
    const instance = createInstance({ id: resourceId('inst'), host, profile, firstBootKey, now: now() });
    hosts.saveInstance(instance);
    nodes.tell(host, 'changed');
    return instance;
  }

  #defaultProfileOf(host: Host): string | null {
    const { autoProvision, defaultProfile } = this.#options.settings();
    return host.profile ?? (autoProvision ? defaultProfile : null);
  }

  #fail(hostId: string, thrown: unknown): void {
    const { hosts, nodes, now } = this.#options;
    const host = hosts.byId(hostId);
    const instance = hosts.instance(hostId);
    if (!host || !instance) return;
    const { message } = toErrorReport(thrown);
    hosts.saveInstance({
      ...instance,
      provisioningStatus: status(`Provisioning Failed: ${message}`, 'ERROR', now()),
    });
    nodes.tell(host, 'changed');
  }
}
