import { normalizeMac } from '../../formats/mac-address.ts';
import { addressNeighborhood } from '../../net/address-group.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import type { HostId } from '../../protocol/ids.ts';
import { resourceId } from '../store/identifiers.ts';
import type { Store } from '../store/store.ts';
import type { WorkerIndex } from '../workflow/worker-index.ts';
import type { Host } from './host.ts';
import type { HostTable } from './host-table.ts';
import { NEWCOMERS, type Nodes } from './nodes.ts';
import { MAC_PATTERN, newHost } from './registration.ts';
import { makeRoomForUnknown } from './unknown-machines.ts';

export interface AskingAgentsOptions {
  store: Store;
  hosts: HostTable;
  nodes: Nodes;
  workers: WorkerIndex;
  projectId: string;
  maxUnknown: () => number;
  now: () => Date;
}

/** Agents of the legacy dialect ask every six seconds: their node is written at most this often. A silent one is told after 120 s. */
const NOTED_MS = 30_000;
const MAX_AGENTS = 10_000;
/** A MAC address or a name: what anybody may send becomes the name of a node. */
const PLAIN_ID = /^[a-z0-9][a-z0-9._:-]{0,62}$/i;

/**
 * Machines that ask for work through tink-agent or tink-worker show themselves by nothing else: no discovery report, no
 * onboarding. So every question is a sign of life, and one from a machine that nobody knows makes it a stranger.
 */
export class AskingAgents {
  readonly #options: AskingAgentsOptions;
  readonly #newcomers = new RateLimit(NEWCOMERS);
  /** When each agent was noted last; the oldest comes first. */
  readonly #notedAtMs = new Map<string, number>();

  constructor(options: AskingAgentsOptions) {
    this.#options = options;
  }

  /** `hostId` is the node that the agent's token belongs to, where the site asks for tokens. */
  async heard(agent: { agentId: string; hostId: HostId | undefined }, address: string): Promise<void> {
    const { store, hosts, nodes, now } = this.#options;
    const key = agent.hostId ?? agent.agentId;
    const nowMs = now().getTime();
    if (nowMs - (this.#notedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < NOTED_MS) return;
    this.#note(key, nowMs);
    await store.transaction(async () => {
      const known = await this.#find(agent);
      // A token outlives the record of its node by minutes.
      if (!known && agent.hostId !== undefined) return;
      if (!known && !PLAIN_ID.test(agent.agentId)) return;
      if (!known && !this.#newcomers.allows(addressNeighborhood(address))) return;
      const host = known ?? (await this.#stranger(agent.agentId));
      await hosts.save({ ...host, lastSeenAt: now().toISOString() });
      await nodes.tell(host, known ? 'changed' : 'discovered');
    });
  }

  async #find({ agentId, hostId }: { agentId: string; hostId: HostId | undefined }) {
    const { hosts, workers } = this.#options;
    const known = hostId ?? workers.hostOf(agentId);
    if (known !== undefined) return hosts.byId(known);
    const named = (await hosts.named(agentId)).find(({ isRegistered }) => !isRegistered);
    return (await hosts.byMac(normalizeMac(agentId))) ?? named;
  }

  async #stranger(agentId: string): Promise<Host> {
    const { hosts, maxUnknown, projectId, now } = this.#options;
    await makeRoomForUnknown(hosts, maxUnknown(), now());
    const isMac = MAC_PATTERN.test(agentId);
    return {
      ...newHost(resourceId('host'), projectId, now()),
      name: agentId,
      mac: isMac ? normalizeMac(agentId) : null,
      reportedMac: isMac ? agentId : null,
    };
  }

  #note(key: string, nowMs: number): void {
    this.#notedAtMs.delete(key);
    this.#notedAtMs.set(key, nowMs);
    const oldest = this.#notedAtMs.keys().next().value;
    if (this.#notedAtMs.size > MAX_AGENTS && oldest !== undefined) this.#notedAtMs.delete(oldest);
  }
}
