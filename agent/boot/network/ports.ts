import type { PhysicalNic } from '../../identity/physical-nics.ts';
import type { InterfacePlan, NetworkPlan } from './network-plan.ts';

/** One interface that will carry addresses, once it is there. */
export interface WantedPort {
  /** Kernel name of what gets the addresses: eth0, eth0.5, bond0. */
  device: string;
  /** The physical card below a VLAN of Tinkerbell's vlan_id or ipam, which is made on the fly. */
  vlan?: { name: string; parent: string; id: number };
  plan: InterfacePlan;
  isBootNic: boolean;
}

/**
 * Which interfaces to configure, given the cards that are there by now. Pure. Cards in a bond, below a VLAN or with a plan
 * of their own are not also taken by "every card". Boot NIC first, then by name.
 */
export function wantedPorts(
  plan: NetworkPlan,
  nics: readonly PhysicalNic[],
  bootMac: string | undefined,
): WantedPort[] {
  const taken = new Set([
    ...plan.bonds.flatMap(({ members }) => members),
    ...plan.vlans.map(({ parent }) => parent),
    ...plan.interfaces.flatMap(({ nic }) =>
      nic === 'every' ? [] : nicsFor(nic, nics).map(({ name }) => name),
    ),
  ]);
  const made = [...plan.bonds, ...plan.vlans].map(({ name }) => name);
  const isBoot = ({ mac, permanentMac }: PhysicalNic) =>
    bootMac !== undefined && (mac === bootMac || permanentMac === bootMac);

  const ports = plan.interfaces.flatMap((wanted): WantedPort[] => {
    const { nic, vlanId } = wanted;
    if (nic !== 'every' && 'name' in nic && made.includes(nic.name)) {
      return [{ device: nic.name, plan: wanted, isBootNic: false }];
    }
    const cards = nic === 'every' ? nics.filter(({ name }) => !taken.has(name)) : nicsFor(nic, nics);
    return cards.map((card) => {
      const device = vlanId === undefined ? card.name : `${card.name}.${vlanId}`;
      return {
        device,
        ...(vlanId === undefined ? {} : { vlan: { name: device, parent: card.name, id: vlanId } }),
        plan: wanted,
        isBootNic: isBoot(card),
      };
    });
  });
  const unique = [...new Map(ports.map((port) => [port.device, port])).values()];
  return [...unique.filter(({ isBootNic }) => isBootNic), ...unique.filter(({ isBootNic }) => !isBootNic)];
}

function nicsFor(selector: { name: string } | { mac: string }, nics: readonly PhysicalNic[]): PhysicalNic[] {
  return nics.filter((nic) =>
    'name' in selector
      ? nic.name === selector.name
      : nic.permanentMac === selector.mac || nic.mac === selector.mac,
  );
}
