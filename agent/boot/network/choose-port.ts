import type { Lease } from './lease.ts';

/** What the choice between cards goes by. */
export interface PortFacts {
  isBootNic: boolean;
  hasLink: boolean;
  lease: Lease | undefined;
  reach: 'untried' | 'trying' | 'yes' | 'no';
}

/** How long another card's success waits for the card that booted. */
const BOOT_NIC_GRACE_MS = 4000;

/**
 * Which card to use: the first that reaches the orchestrator, the one that booted if it does so in time. Without an
 * orchestrator to reach, or when patience is over, the first with an address. undefined: wait. Pure.
 */
export function choosePort<P extends PortFacts>(
  ports: readonly P[],
  options: { hasTargets: boolean; sinceLeaseMs: number; reachMs: number; current: P | undefined },
): P | undefined {
  const { hasTargets, sinceLeaseMs, reachMs, current } = options;
  if (current && (!hasTargets || current.reach !== 'no')) return current;
  const usable = ports.filter(({ lease, hasLink }) => lease !== undefined && hasLink);
  const ready = hasTargets ? usable.filter(({ reach }) => reach === 'yes') : usable;
  const best = ready.find(({ isBootNic }) => isBootNic) ?? ready[0];
  const bootPort = ports.find(({ isBootNic, hasLink }) => isBootNic && hasLink);
  const needNotWait =
    best?.isBootNic || !bootPort || bootPort.reach === 'no' || sinceLeaseMs > BOOT_NIC_GRACE_MS;
  if (best && needNotWait) return best;
  if (current || usable.length === 0 || sinceLeaseMs < reachMs) return current;
  return best ?? usable[0];
}
