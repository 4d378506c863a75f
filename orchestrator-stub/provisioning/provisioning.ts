import { randomBytes } from 'node:crypto';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { billDifferences, learnBill } from '../nodes/bill.ts';
import { hardwareFacts } from '../nodes/hardware-facts.ts';
import { type Host, status } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import {
  type AgentsStatus,
  awaitsFirstBoot,
  createInstance,
  type Instance,
  type InstanceKeys,
  markAgents,
  markBootOrder,
  markFirstBoot,
  needsProvisioning,
  nextGeneration,
  type SystemReport,
  systemLine,
  unfinishedAgents,
} from '../nodes/instance.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { type Profile, ProfileSchema, templateOf } from '../nodes/profile.ts';
import { reopenOnboarding } from '../nodes/registration.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import type { DocumentTable } from '../store/document-table.ts';
import { resourceId } from '../store/identifiers.ts';
import { Channel } from '../store/messages.ts';
import { isStateFailure } from '../store/state-failure.ts';
import type { Store } from '../store/store.ts';
import type { Template } from '../workflow/built-in.ts';
import { defineWorkflow } from '../workflow/definition.ts';
import type { TemplateData } from '../workflow/go-template/values.ts';
import { type HardwareObject, hardwareData } from '../workflow/hardware.ts';
import { isTerminal, type StoredWorkflow, type WorkflowDefinition } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { ImageFormats } from './image-format.ts';
import { templateData } from './inputs.ts';
import { knownHardware, nodeHardware } from './node-hardware.ts';
import type { PostMortem } from './post-mortem.ts';

export interface ProvisioningOptions {
  store: Store;
  hosts: HostTable;
  nodes: Nodes;
  profiles: DocumentTable<Profile>;
  template: (name: string) => Promise<Template>;
  credentials: Credentials;
  workflows: Workflows;
  postMortem: PostMortem;
  settings: () => SiteSettings;
  hasNeighbors: () => boolean;
  /** As EMF has it: a node that is onboarded must knock again before it gets other work. */
  isStrict: boolean;
  ca: () => string;
  now: () => Date;
  onFailure: (thrown: unknown) => void;
}

/** What an installed system reports: of itself, and of its agents if it has any. */
export interface FirstBootReport extends SystemReport {
  agents?: AgentsStatus['state'] | undefined;
  reason: string;
}

/** How long the process that is to advance a host is given before another looks whether it did. */
const TAKEN_OVER_MS = 2000;

/** Brings onboarded hosts to the system they should run: instance → workflow → first boot. */
export class Provisioning {
  readonly #options: ProvisioningOptions;
  readonly #formats = new ImageFormats();
  readonly #channel: Channel<{ hostId: HostId }>;
  /** Hosts that another process is advancing, and is given time for. */
  readonly #watched = new Map<HostId, NodeJS.Timeout>();

  constructor(options: ProvisioningOptions) {
    this.#options = options;
    this.#channel = new Channel(options.store, 'advance', ({ hostId }, { isOwn }) => {
      if (isOwn) this.#advanceNow(hostId);
      else this.#advanceLater(hostId);
    });
  }

  /**
   * Does whatever the host is ready for, in the background: after the transaction that is open, if one is. Safe to call at any time
   * and any number of times. Should this process die meanwhile, another does it.
   */
  advance(hostId: HostId): void {
    this.#channel.tell({ hostId });
  }

  stop(): void {
    for (const timer of this.#watched.values()) clearTimeout(timer);
    this.#watched.clear();
  }

  /**
   * Advances the hosts whose next step was lost: we were killed between two steps, the state folder took no writes, or the
   * profile or template was wrong and has been corrected.
   */
  async catchUp(): Promise<void> {
    const { hosts, onFailure } = this.#options;
    try {
      for (const { id, currentState } of await hosts.list()) {
        if (currentState !== 'ONBOARDED') continue;
        const instance = await hosts.instance(id);
        if (!instance || needsProvisioning(instance)) this.#advanceNow(id);
      }
    } catch (thrown) {
      onFailure(thrown);
    }
  }

  /** Chooses the system of a host that has none yet (manual mode), or before it has connected. */
  async provision(key: string, profileName: string): Promise<Instance> {
    const { nodes, hosts, store } = this.#options;
    return store.transaction(async () => {
      await this.profile(profileName);
      const host = await nodes.find(key);
      const existing = await hosts.instance(host.id);
      // A first try that failed before anything was installed is not a system.
      if (existing?.provisionedGeneration === 0 && !(await this.#isInstalling(host))) {
        return this.reprovision(key, profileName);
      }
      if (existing) {
        const state = existing.provisionedGeneration === 0 ? 'is being installed' : 'already has a system';
        throw new KindlingError('KND_NODE_STATE', `${host.name} ${state} (profile ${existing.profile})`, {
          hint: `To write its disk anew: kindling node reprovision ${host.name} --profile ${profileName}.`,
        });
      }
      const instance = await this.#createInstance(host, profileName);
      this.advance(host.id);
      return instance;
    });
  }

  /** A new generation: the node may come in again and its disk is written once more. */
  async reprovision(key: string, profileName?: string): Promise<Instance> {
    const { nodes, hosts, store, now, workflows, credentials } = this.#options;
    return store.transaction(async () => {
      if (profileName) await this.profile(profileName);
      const host = await nodes.find(key);
      if (host.currentState === 'UNTRUSTED' || !host.isRegistered) {
        throw new KindlingError('KND_NODE_STATE', `${host.name} is not a node that may be provisioned`);
      }
      this.advance(host.id);
      const before = await hosts.instance(host.id);
      if (!before) {
        const name = profileName ?? this.#defaultProfileOf(host);
        if (!name)
          throw new KindlingError('KND_NODE_STATE', `${host.name} has no system yet; name a profile`);
        return this.#createInstance(host, name);
      }
      await workflows.cancelAllOf(host.id, `replaced by generation ${before.generation + 1}`);
      // A node is often written anew because it was broken into: what it knew opens nothing any more.
      await credentials.revoke(host.id);
      const instance = nextGeneration(
        before,
        { ...(profileName ? { profile: profileName } : {}), keys: newKeys() },
        now(),
      );
      await hosts.saveInstance(instance);
      if (this.#waitsInMicroOs(host, before)) await nodes.tell(host, 'changed');
      else await nodes.change(host.id, (each) => reopenOnboarding(each, now()));
      return instance;
    });
  }

  /** Tries a failed workflow again, as today's profile, template and hardware have it, or with the old values. */
  async retry(
    id: string,
    {
      asItWas,
      commit,
    }: { asItWas: boolean; commit: (work: () => Promise<StoredWorkflow>) => Promise<StoredWorkflow> },
  ): Promise<StoredWorkflow> {
    const { workflows, hosts, store } = this.#options;
    const { definition, progress } = await workflows.get(id);
    const instance = await hosts.instance(definition.hostId);
    // One that was started by hand has values that nobody has kept.
    const isOfInstance = instance?.generation === definition.generation;
    if (asItWas || !isOfInstance || !isTerminal(progress.state)) return commit(() => workflows.retry(id));
    // The image server is asked before the transaction, for which everybody waits.
    const isQcow2 = await this.#formats.isQcow2(await this.profile(instance.profile));
    const retryAnew = async () => {
      const fresh = await this.#render(definition.hostId, isQcow2);
      return fresh?.generation === definition.generation
        ? workflows.retryAnew(id, fresh)
        : workflows.retry(id);
    };
    return commit(() => store.transaction(retryAnew));
  }

  /** The node is in the Micro-OS and may work: what it is to do next needs no restart of the machine. */
  #waitsInMicroOs(host: Host, instance: Instance): boolean {
    if (this.#options.isStrict || host.currentState !== 'ONBOARDED' || !needsProvisioning(instance))
      return false;
    return host.reportedMac !== null && this.#options.workflows.index.isPresent(host.reportedMac);
  }

  async #isInstalling(host: Host): Promise<boolean> {
    const latest = await this.#options.workflows.latestOf(host.id);
    return latest !== undefined && !isTerminal(latest.progress.state);
  }

  /** The installed system has booted, or says how its agents fare. Returns the host. */
  async firstBoot(key: string, { agents, reason, ...report }: FirstBootReport): Promise<Host> {
    const { hosts, nodes, store, now } = this.#options;
    return store.transaction(async () => {
      const instance = await hosts.instanceByFirstBootKey(key);
      if (!instance) throw new KindlingError('KND_API_NOT_FOUND', 'there is no such first boot to report');
      const booted = { ...markFirstBoot(instance, now()), firstBoot: report };
      const changed = agents ? markAgents(booted, { state: agents, reason }, now()) : booted;
      await hosts.saveInstance(changed);
      const unfinished = unfinishedAgents(changed);
      const indicator = { failed: 'ERROR', installing: 'IN_PROGRESS', ready: 'IDLE' } as const;
      return nodes.change(
        instance.hostId,
        (host) => ({
          ...host,
          hostStatus: status(systemLine(changed), indicator[unfinished?.state ?? 'ready'], now()),
          lastSeenAt: now().toISOString(),
        }),
        unfinished ? 'changed' : 'running',
      );
    });
  }

  /** The installed system leads the boot order from now on. */
  async bootOrderCommitted(key: string): Promise<Host> {
    const { hosts, nodes, store, now } = this.#options;
    return store.transaction(async () => {
      const instance = await hosts.instanceByFirstBootKey(key);
      if (!instance) throw new KindlingError('KND_API_NOT_FOUND', 'there is no such first boot to report');
      await hosts.saveInstance(markBootOrder(instance, now()));
      const host = await nodes.find(instance.hostId);
      await nodes.tell(host, 'committed');
      return host;
    });
  }

  async profile(name: string): Promise<Profile> {
    const profile = await this.#options.profiles.get(name);
    if (!profile) throw new KindlingError('KND_PROFILE_UNKNOWN', `there is no profile ${name}`);
    return profile;
  }

  /** A good machine shows what the others have to be made of. */
  async learnBill(profileName: string, node: string): Promise<Profile> {
    const { hosts, nodes, profiles, store } = this.#options;
    return store.transaction(async () => {
      const profile = await this.profile(profileName);
      const host = await nodes.find(node);
      const inventory = await hosts.inventory(host.id);
      if (!inventory)
        throw new KindlingError('KND_NODE_STATE', `${host.name} has not told what it is made of yet`);
      const learned = ProfileSchema.parse({ ...profile, bill: learnBill(hardwareFacts(inventory)) });
      await profiles.save(profileName, learned);
      store.afterCommit(() => void this.catchUp()); // machines may wait for it to be corrected
      return learned;
    });
  }

  /** A person takes the machine as it is now; a further difference stops it again. */
  async acceptParts(key: string): Promise<Host> {
    const { hosts, nodes, store } = this.#options;
    return store.transaction(async () => {
      const host = await nodes.find(key);
      const instance = await hosts.instance(host.id);
      const differences = instance
        ? await this.#differencesOf(host, await this.profile(instance.profile))
        : [];
      if (differences.length === 0)
        throw new KindlingError('KND_NODE_STATE', `${host.name} does not differ from what was ordered`);
      this.advance(host.id);
      return nodes.change(host.id, (each) => ({ ...each, acceptedParts: differences }));
    });
  }

  #advanceNow(hostId: HostId): void {
    const { onFailure } = this.#options;
    this.#advance(hostId)
      .catch(async (thrown: unknown) => {
        onFailure(thrown);
        // That the state folder fails is not the node's fault: catchUp() comes back to it.
        if (!isStateFailure(thrown)) await this.#fail(hostId, thrown);
      })
      .catch(onFailure);
  }

  /** Finds everything done, unless the process that was to do it has died. */
  #advanceLater(hostId: HostId): void {
    clearTimeout(this.#watched.get(hostId));
    const timer = setTimeout(() => {
      this.#watched.delete(hostId);
      this.#advanceNow(hostId);
    }, TAKEN_OVER_MS);
    timer.unref();
    this.#watched.set(hostId, timer);
  }

  async #advance(hostId: HostId): Promise<void> {
    const { hosts, store, postMortem } = this.#options;
    const instance = await store.transaction(async () => {
      const host = await hosts.byId(hostId);
      if (host?.currentState !== 'ONBOARDED' || !host.reportedMac) return undefined;
      const existing = await hosts.instance(hostId);
      if (existing) return existing;
      const profile = this.#defaultProfileOf(host);
      return profile ? this.#createInstance(host, profile) : undefined;
    });
    if (instance && awaitsFirstBoot(instance)) await postMortem.examine(hostId);
    if (!instance || !needsProvisioning(instance)) return;
    const isQcow2 = await this.#formats.isQcow2(await this.profile(instance.profile));
    await this.#startWorkflow(hostId, isQcow2);
  }

  /** What templates may say of a node's hardware: the object that was given, else what is known of the node. */
  async hardwareOf(host: Host, given?: HardwareObject): Promise<{ [key: string]: TemplateData }> {
    if (given) return hardwareData(given);
    const { hosts, settings } = this.#options;
    return nodeHardware(host, { ...(await knownHardware(hosts, host)), ntpServers: settings().ntpServers });
  }

  /** Everything is read again: the question about the image may have taken a while. */
  async #startWorkflow(hostId: HostId, isQcow2: boolean): Promise<void> {
    const { store, workflows } = this.#options;
    await store.transaction(async () => {
      const definition = await this.#render(hostId, isQcow2);
      if (definition && !(await workflows.find(definition.id))) await workflows.add(definition);
    });
  }

  /** The workflow of a host's wanted generation as it is today; undefined while the host may not have one. */
  async #render(hostId: HostId, isQcow2: boolean): Promise<WorkflowDefinition | undefined> {
    const { hosts, store, credentials, now, settings, hasNeighbors, ca } = this.#options;
    return store.transaction(async () => {
      const host = await hosts.byId(hostId);
      const instance = await hosts.instance(hostId);
      const origin = await hosts.origin(hostId);
      if (host?.currentState !== 'ONBOARDED' || !origin || !instance || !needsProvisioning(instance)) {
        return undefined;
      }
      const id = `workflow-${host.uuid ?? host.id}-g${instance.generation}`;
      const profile = await this.profile(instance.profile);
      await this.#refuseOtherParts(host, profile);
      const data = templateData({
        host,
        instance,
        profile,
        settings: settings(),
        hasNeighbors: hasNeighbors(),
        inventory: await hosts.inventory(hostId),
        attributes: await hosts.attributes(hostId),
        client: await credentials.issue(host, now()),
        isQcow2,
        ca: ca(),
        origin,
      });
      const template = await this.#options.template(templateOf(profile));
      return defineWorkflow({ id, hostId, generation: instance.generation, template, data, now: now() });
    });
  }

  /** Before the workflow is there, so before a disk is touched. Throws KND_BILL_DIFFERS. */
  async #refuseOtherParts(host: Host, profile: Profile): Promise<void> {
    const differences = await this.#differencesOf(host, profile);
    const refused = differences.filter((difference) => !host.acceptedParts?.includes(difference));
    if (refused.length === 0) return;
    throw new KindlingError(
      'KND_BILL_DIFFERS',
      `${host.name} is not what was ordered: ${refused.join('; ')}`,
      {
        hint: `Put the right parts in and start it again, or take it as it is: kindling bom accept ${host.name}`,
      },
    );
  }

  async #differencesOf(host: Host, { bill }: Profile): Promise<string[]> {
    if (!bill) return [];
    return billDifferences(bill, hardwareFacts(await this.#options.hosts.inventory(host.id)));
  }

  async #createInstance(host: Host, profile: string): Promise<Instance> {
    const { hosts, nodes, now } = this.#options;
    const instance = createInstance({ id: resourceId('inst'), host, profile, keys: newKeys(), now: now() });
    await hosts.saveInstance(instance);
    await nodes.tell(host, 'changed');
    return instance;
  }

  #defaultProfileOf(host: Host): string | null {
    const { autoProvision, defaultProfile } = this.#options.settings();
    return host.profile ?? (autoProvision ? defaultProfile : null);
  }

  async #fail(hostId: HostId, thrown: unknown): Promise<void> {
    const { hosts, nodes, store, now } = this.#options;
    await store.transaction(async () => {
      const host = await hosts.byId(hostId);
      const instance = await hosts.instance(hostId);
      if (!host || !instance) return;
      const { code, hint, message } = toErrorReport(thrown);
      await hosts.saveInstance({
        ...instance,
        provisioningStatus: {
          ...status(`Provisioning Failed: ${message}`, 'ERROR', now()),
          error: { code, hint },
        },
      });
      await nodes.tell(host, 'changed');
    });
  }
}

function newKeys(): InstanceKeys {
  const secret = () => randomBytes(16).toString('hex');
  return { firstBootKey: secret(), escrowKey: secret(), neighborsKey: secret() };
}
