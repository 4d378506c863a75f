import type { HostId } from '../../protocol/ids.ts';
import type { Host, Status } from './host.ts';
import { status } from './host.ts';

export type InstanceState = 'UNSPECIFIED' | 'RUNNING' | 'DELETED';

/** What an installed system says of itself on its first boot. */
export interface SystemReport {
  hostname: string;
  kernel: string;
  /** cloud-init's own word: done, running, error, degraded; "absent" where it has none. */
  cloudInit: string;
  /** Units that systemd could not start, or that died. */
  failedUnits: string[];
}

export interface AgentsStatus {
  state: 'installing' | 'failed' | 'ready';
  reason: string;
  at: string;
}

/** The operating system a host should run. */
export interface Instance {
  id: string;
  hostId: HostId;
  profile: string;
  desiredState: InstanceState;
  /** RUNNING once the workflow of the wanted generation has succeeded. */
  currentState: InstanceState;
  /** Grows by one with every re-provision; one generation is written to disk at most once. */
  generation: number;
  /** The newest generation whose workflow succeeded; 0 = none yet. */
  provisionedGeneration: number;
  provisioningStatus: Status;
  createdAt: string;
  /** When the installed system reported its first boot for this generation. */
  firstBootAt: string | null;
  /** Its system is nobody's here and will never report. */
  isStandalone?: boolean;
  /** What the installed system last said of itself. */
  firstBoot?: SystemReport;
  /** How its agents fare; absent where the system has none. */
  agents?: AgentsStatus;
  /** When the installed system had put itself at the head of the boot order. */
  bootOrderAt: string | null;
  /** How often the node came back into the Micro-OS before this generation had reported. */
  fallbacks: number;
  /** How long after the end of its last workflow it was back: seconds say “it never started its disk”, half an hour “it hung”. */
  secondsAway?: number;
  /** Secret of the address that the installed system reports its first boot to. */
  firstBootKey: string;
  /** Secrets of the addresses for the recovery key and for neighbors: only the Micro-OS knows them, never the installed system. */
  escrowKey?: string;
  neighborsKey?: string;
}

/** One secret per purpose, new with every generation. */
export type InstanceKeys = Required<Pick<Instance, 'firstBootKey' | 'escrowKey' | 'neighborsKey'>>;

export interface NewInstance {
  id: string;
  host: Host;
  profile: string;
  keys: InstanceKeys;
  now: Date;
}

/** The instance of a host that has none yet: generation 1, not provisioned. */
export function createInstance({ id, host, profile, keys, now }: NewInstance): Instance {
  return {
    id,
    hostId: host.id,
    profile,
    desiredState: 'RUNNING',
    currentState: 'UNSPECIFIED',
    generation: 1,
    provisionedGeneration: 0,
    provisioningStatus: status('Provisioning In Progress', 'IN_PROGRESS', now),
    createdAt: now.toISOString(),
    firstBootAt: null,
    bootOrderAt: null,
    fallbacks: 0,
    ...keys,
  };
}

/** True while the wanted generation is not on the disk yet. */
export function needsProvisioning(instance: Instance): boolean {
  return instance.desiredState === 'RUNNING' && instance.provisionedGeneration < instance.generation;
}

/** Asks for the disk to be written anew, perhaps with another profile. */
export function nextGeneration(
  instance: Instance,
  change: { profile?: string; keys: InstanceKeys },
  now: Date,
): Instance {
  const { agents: _agents, firstBoot: _firstBoot, ...rest } = instance;
  return {
    ...rest,
    profile: change.profile ?? instance.profile,
    desiredState: 'RUNNING',
    currentState: 'UNSPECIFIED',
    generation: instance.generation + 1,
    provisioningStatus: status('Provisioning In Progress', 'IN_PROGRESS', now),
    firstBootAt: null,
    bootOrderAt: null,
    fallbacks: 0,
    ...change.keys,
  };
}

/** The workflow of `generation` has succeeded. A late word about an older generation changes nothing. */
export function markProvisioned(
  instance: Instance,
  generation: number,
  now: Date,
  { isStandalone = false } = {},
): Instance {
  if (generation !== instance.generation) return instance;
  return {
    ...instance,
    isStandalone,
    currentState: 'RUNNING',
    provisionedGeneration: generation,
    provisioningStatus: status('Provisioned', 'IDLE', now),
  };
}

export function markFirstBoot(instance: Instance, now: Date): Instance {
  if (instance.firstBootAt) return instance;
  return {
    ...instance,
    firstBootAt: now.toISOString(),
    provisioningStatus: status('Provisioned', 'IDLE', now),
  };
}

/** What the system says of its agents. Once they ran, a second start of the system does not make the node unfinished again. */
export function markAgents(
  instance: Instance,
  said: Pick<AgentsStatus, 'state' | 'reason'>,
  now: Date,
): Instance {
  const before = instance.agents;
  if (before?.state === 'ready' || (before?.state === said.state && before.reason === said.reason))
    return instance;
  return { ...instance, agents: { ...said, at: now.toISOString() } };
}

/** What a system that has booted is still short of; undefined once it runs. */
export function unfinishedAgents(instance: Instance): AgentsStatus | undefined {
  return instance.agents?.state === 'ready' ? undefined : instance.agents;
}

/** The status line of a system that has booted. */
export function systemLine(instance: Instance): string {
  const agents = unfinishedAgents(instance);
  if (!agents) return 'Running';
  return agents.state === 'failed' ? `Agents failed: ${agents.reason}` : 'Installing agents';
}

export function markBootOrder(instance: Instance, now: Date): Instance {
  return instance.bootOrderAt ? instance : { ...instance, bootOrderAt: now.toISOString() };
}

/** True while the wanted generation is on the disk but its system has not been heard of. */
export function awaitsFirstBoot(instance: Instance): boolean {
  return instance.currentState === 'RUNNING' && instance.firstBootAt === null && !instance.isStandalone;
}

/** How the status begins of a system that did not report. */
export const FIRST_BOOT_FAILED = 'First Boot Failed: ';

/** The node is in the Micro-OS again, and its installed system never reported. The disk stays as it is. */
export function markFallback(instance: Instance, secondsAway: number, now: Date): Instance {
  return {
    ...instance,
    secondsAway,
    fallbacks: (instance.fallbacks ?? 0) + 1,
    provisioningStatus: status(`${FIRST_BOOT_FAILED}looking for the reason`, 'ERROR', now),
  };
}

/** The post-mortem has an answer. */
export function markFirstBootFailed(instance: Instance, reason: string, now: Date): Instance {
  const { secondsAway } = instance;
  const back =
    secondsAway === undefined ? '' : `; it was back in the Micro-OS ${secondsAway} s after the restart`;
  return {
    ...instance,
    provisioningStatus: status(`${FIRST_BOOT_FAILED}${reason}${back} (KND_FIRST_BOOT_FAILED)`, 'ERROR', now),
  };
}

/** A system that has been heard of is left alone. One that has not lets its node back in, to say why. */
export function isInUse(instance: Instance | undefined): boolean {
  return instance?.currentState === 'RUNNING' && !awaitsFirstBoot(instance);
}
