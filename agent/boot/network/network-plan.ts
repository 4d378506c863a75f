/** Which network card is meant: by kernel name, by MAC address, or every one there is. */
export type NicSelector = { name: string } | { mac: string } | 'every';

export interface StaticAddress {
  address: string;
  prefix: number;
  gateway?: string;
}

/** How one interface gets its addresses. */
export interface InterfacePlan {
  nic: NicSelector;
  /** Put a VLAN on the card and use that. */
  vlanId?: number;
  method: { kind: 'dhcp' } | { kind: 'auto6' } | ({ kind: 'static' } & StaticAddress);
  mtu?: number;
  hostname?: string;
}

export interface BondPlan {
  name: string;
  members: string[];
  /** As the bonding driver's files in /sys are called: mode, miimon, lacp_rate. */
  options: Record<string, string>;
  mtu?: number;
}

export interface RoutePlan {
  to: string;
  gateway: string;
  interface?: string;
}

/** What the kernel command line asks of the network. */
export interface NetworkPlan {
  renames: { mac: string; name: string }[];
  bonds: BondPlan[];
  /** VLAN interfaces by name: vlan5 or eth0.5 on eth0. */
  vlans: { name: string; parent: string; id: number }[];
  interfaces: InterfacePlan[];
  routes: RoutePlan[];
  nameservers: string[];
  searchDomains: string[];
  ntpServers: string[];
}
