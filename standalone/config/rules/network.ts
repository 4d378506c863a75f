import { normalizeMac } from '../../../formats/mac-address.ts';
import { contains, firstAddress, lastAddress, parseIp, parseNetwork } from '../addresses.ts';
import type { Path, Report } from '../issue.ts';
import { isDnsName, isMac } from '../names.ts';
import type { Config, NetworkInterface } from '../schema.ts';

const AT: Path = ['operatingSystem', 'network'];

/** NET301–NET303: network cards of one machine. */
export function checkNetwork(config: Config, report: Report): void {
  const seen = new Set<string>();
  config.operatingSystem?.network?.forEach((card, index) => {
    const path = [...AT, index];
    checkAddresses(card, path, report);
    if (card.vlan !== undefined && !(Number.isInteger(card.vlan) && card.vlan >= 1 && card.vlan <= 4094)) {
      report('NET302', [...path, 'vlan'], `${card.vlan} is not a VLAN id (1–4094)`);
    }
    if (card.mtu !== undefined && !(Number.isInteger(card.mtu) && card.mtu >= 576 && card.mtu <= 9216)) {
      report('NET302', [...path, 'mtu'], `${card.mtu} is not an MTU (576–9216)`);
    }
    if (card.mac !== undefined && !isMac(card.mac)) {
      report('NET302', [...path, 'mac'], `"${card.mac}" is not a MAC address`);
    }
    const identity = `${card.mac === undefined ? 'first' : normalizeMac(card.mac)}/${card.vlan ?? ''}`;
    if (seen.has(identity)) {
      report(
        'NET303',
        path,
        'this interface is configured twice; tell cards apart by mac, or use another vlan',
      );
    }
    seen.add(identity);
  });
}

function checkAddresses(card: NetworkInterface, path: Path, report: Report): void {
  const network = card.address === undefined ? undefined : parseNetwork(card.address);
  if (card.address === undefined) {
    if (card.dhcp === false) report('NET301', path, 'neither dhcp nor an address');
    if (card.gateway !== undefined) report('NET301', [...path, 'gateway'], 'a gateway needs an address');
  } else if (network === undefined) {
    const hint = parseIp(card.address) === undefined ? '' : `; add the prefix length: ${card.address}/24`;
    report('NET301', [...path, 'address'], `"${card.address}" is not address/prefix${hint}`);
  } else if (isReserved(card.address)) {
    report('NET301', [...path, 'address'], `${card.address} is the network’s own or its broadcast address`);
  }
  if (card.gateway !== undefined) {
    const gateway = parseIp(card.gateway);
    if (gateway === undefined)
      report('NET301', [...path, 'gateway'], `"${card.gateway}" is not an IP address`);
    else if (network !== undefined && !contains(network, gateway)) {
      report('NET301', [...path, 'gateway'], `${card.gateway} is not in the network of ${card.address}`);
    } else if (network !== undefined && gateway.value === network.address) {
      report('NET301', [...path, 'gateway'], `${card.gateway} is the node’s own address`);
    }
  }
  card.dns?.forEach((server, index) => {
    if (parseIp(server) === undefined)
      report('NET301', [...path, 'dns', index], `"${server}" is not an IP address`);
  });
  card.searchDomains?.forEach((domain, index) => {
    if (!isDnsName(domain))
      report('NET301', [...path, 'searchDomains', index], `"${domain}" is not a domain`);
  });
}

function isReserved(text: string): boolean {
  const network = parseNetwork(text);
  if (network === undefined || network.family === 6 || network.prefix > 30) return false;
  return network.address === firstAddress(network) || network.address === lastAddress(network);
}

/** NET303: one address on two machines. The machines are those that `nodes` tells apart. */
export function checkAddressesAcrossNodes(machines: readonly { config: Config; report: Report }[]): void {
  const owners = new Map<string, number>();
  machines.forEach(({ config, report }, machine) => {
    config.operatingSystem?.network?.forEach((card, index) => {
      const network = card.address === undefined ? undefined : parseNetwork(card.address);
      if (network === undefined) return;
      const key = `${network.family}/${network.address}/${card.vlan ?? ''}`;
      const owner = owners.get(key);
      if (owner !== undefined && owner !== machine) {
        report('NET303', [...AT, index, 'address'], `${card.address} is also the address of another machine`);
      }
      owners.set(key, machine);
    });
  });
}
