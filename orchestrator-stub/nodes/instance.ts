import type { Host, Status } from './host.ts';
import { status } from './host.ts';

export type InstanceState = 'UNSPECIFIED' | 'RUNNING' | 'DELETED';

/** The operating system a host should run. */
export interface Instance {
  id: string;
  hostId: string;
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
  /** Secret of the address that the installed system reports its first boot to. */
  firstBootKey: string;
}

export interface NewInstance {
  id: string;
  host: Host;
  profile: string;
  firstBootKey: string;
  now: Date;
}

/** The instance of a host that has none yet: generation 1, not provisioned. */
export function createInstance({ id, host, profile, firstBootKey, now }: NewInstance): Instance {
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
    firstBootKey,
  };
}

/** True while the wanted generation is not on the disk yet. */
export function needsProvisioning(instance: Instance): boolean {
  return instance.desiredState === 'RUNNING' && instance.provisionedGeneration < instance.generation;
}

/** Asks for the disk to be written anew, perhaps with another profile. */
export function nextGeneration(
  instance: Instance,
  change: { profile?: string; firstBootKey: string },
  now: Date,
): Instance {
  return {
    ...instance,
    profile: change.profile ?? instance.profile,
    desiredState: 'RUNNING',
    currentState: 'UNSPECIFIED',
    generation: instance.generation + 1,
    provisioningStatus: status('Provisioning In Progress', 'IN_PROGRESS', now),
    firstBootAt: null,
    firstBootKey: change.firstBootKey,
  };
}

/** The workflow of `generation` has succeeded. A late word about an older generation changes nothing. */
export function markProvisioned(instance: Instance, generation: number, now: Date): Instance {
  if (generation !== instance.generation) return instance;
  return {
    ...instance,
    currentState: 'RUNNING',
    provisionedGeneration: generation,
    provisioningStatus: status('Provisioned', 'IDLE', now),
  };
}

export function markFirstBoot(instance: Instance, now: Date): Instance {
  return instance.firstBootAt ? instance : { ...instance, firstBootAt: now.toISOString() };
}
