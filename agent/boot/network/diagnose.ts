import { KindlingError } from '../../../protocol/error.ts';

export interface NetworkTimeouts {
  /** For a card to appear. */
  nicMs: number;
  /** For a link on any card. */
  linkMs: number;
  /** For an answer once there is a link: a switch with spanning tree keeps a port closed for up to 50 s, twice if it restarts. */
  dhcpMs: number;
  /** For any card to reach the orchestrator once one has an address; then the boot goes on without. */
  reachMs: number;
}

export const DEFAULT_TIMEOUTS: NetworkTimeouts = {
  nicMs: 30_000,
  linkMs: 60_000,
  dhcpMs: 120_000,
  reachMs: 20_000,
};

export interface PortState {
  device: string;
  hasLink: boolean;
  /** How long the link has been there. */
  linkMs: number;
  hasLease: boolean;
}

/** Why there is no network, once it has taken long enough to say so; undefined while patience is right. Pure. */
export function diagnose(
  elapsedMs: number,
  ports: readonly PortState[],
  cardsWithoutDriver: readonly string[],
  timeouts: NetworkTimeouts,
): KindlingError | undefined {
  const names = ports.map(({ device }) => device).join(', ');
  if (ports.length === 0) {
    if (elapsedMs < timeouts.nicMs) return undefined;
    const missing =
      cardsWithoutDriver.length > 0 ? `; there is no driver for ${cardsWithoutDriver.join(', ')}` : '';
    return new KindlingError(
      'KND_NET_NO_NIC',
      `no network card was found within ${seconds(timeouts.nicMs)}${missing}`,
      {
        evidence: { cardsWithoutDriver },
      },
    );
  }
  const linked = ports.filter(({ hasLink }) => hasLink);
  if (linked.length === 0) {
    if (elapsedMs < timeouts.linkMs) return undefined;
    return new KindlingError('KND_NET_NO_LINK', `no link on ${names} for ${seconds(elapsedMs)}`, {
      evidence: { ports: names },
    });
  }
  const longest = Math.max(...linked.map(({ linkMs }) => linkMs));
  if (linked.some(({ hasLease }) => hasLease) || longest < timeouts.dhcpMs) return undefined;
  const linkedNames = linked.map(({ device }) => device).join(', ');
  return new KindlingError(
    'KND_NET_NO_DHCP',
    `the link is up on ${linkedNames}, but no DHCP server answered for ${seconds(longest)}`,
    {
      evidence: { ports: linkedNames },
    },
  );
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1000)} s`;
}
