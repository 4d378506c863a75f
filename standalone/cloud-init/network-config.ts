import { normalizeMac } from '../../formats/mac-address.ts';
import { FIRST_NIC_MAC } from '../../protocol/stick.ts';
import { parseIp } from '../config/addresses.ts';
import type { NetworkInterface } from '../config/schema.ts';

interface Addressing {
  dhcp4?: boolean;
  addresses?: string[];
  routes?: { to: string; via: string }[];
  nameservers?: { addresses?: string[]; search?: string[] };
  mtu?: number;
}

interface Ethernet extends Addressing {
  match: { macaddress: string };
  'set-name': string;
}

export interface NetworkConfig {
  version: 2;
  ethernets: Record<string, Ethernet>;
  vlans?: Record<string, Addressing & { id: number; link: string }>;
}

/**
 * cloud-init's network config, version 2. Cards are always matched by MAC and given a name: cloud-init 22.4 ignores a
 * match by name. A card that the config does not name gets its MAC from the installer, which sees the machine.
 */
export function networkConfig(cards: readonly NetworkInterface[] = [{}]): NetworkConfig {
  const ethernets: Record<string, Ethernet> = {};
  const vlans: NonNullable<NetworkConfig['vlans']> = {};
  const names = new Map<string, string>();
  cards.forEach((card) => {
    const mac = card.mac === undefined ? FIRST_NIC_MAC : normalizeMac(card.mac);
    const name = names.get(mac) ?? `net${names.size}`;
    names.set(mac, name);
    const ethernet = ethernets[name] ?? { match: { macaddress: mac }, 'set-name': name };
    if (card.vlan === undefined) ethernets[name] = { ...ethernet, ...addressing(card) };
    else {
      ethernets[name] = ethernet;
      vlans[`${name}.${card.vlan}`] = { id: card.vlan, link: name, ...addressing(card) };
    }
  });
  return { version: 2, ethernets, ...(Object.keys(vlans).length > 0 ? { vlans } : {}) };
}

function addressing(card: NetworkInterface): Addressing {
  const nameservers = {
    ...(card.dns && card.dns.length > 0 ? { addresses: card.dns } : {}),
    ...(card.searchDomains && card.searchDomains.length > 0 ? { search: card.searchDomains } : {}),
  };
  const everything = card.gateway !== undefined && parseIp(card.gateway)?.family === 6 ? '::/0' : '0.0.0.0/0';
  return {
    dhcp4: card.dhcp ?? card.address === undefined,
    ...(card.address === undefined ? {} : { addresses: [card.address] }),
    ...(card.gateway === undefined ? {} : { routes: [{ to: everything, via: card.gateway }] }),
    ...(Object.keys(nameservers).length > 0 ? { nameservers } : {}),
    ...(card.mtu === undefined ? {} : { mtu: card.mtu }),
  };
}
