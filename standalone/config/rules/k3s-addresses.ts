import {
  contains,
  firstAddress,
  formatIp,
  formatNetwork,
  hasHostBits,
  type Network,
  overlaps,
  parseIp,
  parseNetwork,
} from '../addresses.ts';
import type { Path, Report } from '../issue.ts';
import type { ServerConfig } from '../kubernetes-schema.ts';
import { isDnsName } from '../names.ts';
import type { Config } from '../schema.ts';
import { K3S_PATH, k3sSpec } from './k3s-spec.ts';

const AT: Path = [...K3S_PATH, 'serverConfig'];
const DEFAULT_CLUSTER_CIDR = '10.42.0.0/16';
const DEFAULT_SERVICE_CIDR = '10.43.0.0/16';

/** K8S232–K8S234: address ranges and addresses of the cluster. */
export function checkClusterAddresses(config: Config, report: Report): void {
  if (config.kubernetes === undefined) return;
  const server = k3sSpec(config)?.serverConfig ?? {};
  const cluster = checkRanges(server.clusterCidr ?? DEFAULT_CLUSTER_CIDR, [...AT, 'clusterCidr'], report);
  const service = checkRanges(server.serviceCidr ?? DEFAULT_SERVICE_CIDR, [...AT, 'serviceCidr'], report);
  const clash = (one: Network[], other: Network[]) => one.some((a) => other.some((b) => overlaps(a, b)));
  if (clash(cluster, service)) report('K8S232', [...AT, 'serviceCidr'], 'overlaps clusterCidr');
  const families = (networks: Network[]) => networks.map(({ family }) => family).join();
  if (cluster.length > 0 && service.length > 0 && families(cluster) !== families(service)) {
    report('K8S232', [...AT, 'serviceCidr'], 'clusterCidr and serviceCidr must have the same IP families');
  }
  config.operatingSystem?.network?.forEach((card, index) => {
    const own = card.address === undefined ? undefined : parseNetwork(card.address);
    if (own !== undefined && clash([own], [...cluster, ...service])) {
      const path = ['operatingSystem', 'network', index, 'address'];
      report('K8S232', path, `${card.address} overlaps clusterCidr or serviceCidr`);
    }
  });
  checkDns(server, service, report);
  for (const key of ['bindAddress', 'advertiseAddress'] as const) {
    const value = server[key];
    if (value !== undefined && parseIp(value) === undefined) {
      report('K8S234', [...AT, key], `"${value}" is not an IP address`);
    }
  }
  for (const key of ['httpsListenPort', 'advertisePort'] as const) {
    const value = server[key];
    if (value !== undefined && !(/^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65535)) {
      report('K8S234', [...AT, key], `"${value}" is not a port (1–65535)`);
    }
  }
  if (server.clusterDomain !== undefined && !isDnsName(server.clusterDomain)) {
    report('K8S234', [...AT, 'clusterDomain'], `"${server.clusterDomain}" is not a DNS name`);
  }
}

function checkRanges(text: string, path: Path, report: Report): Network[] {
  const ranges = text.split(',').map((range) => range.trim());
  const networks = ranges.flatMap((range) => {
    const network = parseNetwork(range);
    if (network === undefined) report('K8S232', path, `"${range}" is not a network like 10.42.0.0/16`);
    else if (hasHostBits(network))
      report('K8S232', path, `${range} has host bits; use ${formatNetwork(network)}`);
    return network ?? [];
  });
  const isDual = networks.length === 2 && networks[0]?.family !== networks[1]?.family;
  if (ranges.length > 2 || (networks.length === 2 && !isDual)) {
    report('K8S232', path, 'at most one IPv4 and one IPv6 network');
  }
  return networks;
}

function checkDns(server: ServerConfig, service: Network[], report: Report): void {
  if (server.clusterDNS !== undefined) {
    for (const text of server.clusterDNS.split(',').map((part) => part.trim())) {
      const ip = parseIp(text);
      if (ip === undefined) report('K8S233', [...AT, 'clusterDNS'], `"${text}" is not an IP address`);
      else if (service.length > 0 && !service.some((network) => contains(network, ip))) {
        report('K8S233', [...AT, 'clusterDNS'], `${text} is not in serviceCidr`);
      }
    }
    return;
  }
  const derived = derivedClusterDns(server);
  if (derived !== undefined) {
    report('K8S233', [...AT, 'serviceCidr'], `clusterDNS is not given; using ${derived}`, 'notice');
  }
}

/** The tenth address of a serviceCidr that is not K3s' own; K3s expects cluster-dns to follow it. */
export function derivedClusterDns(server: ServerConfig | undefined): string | undefined {
  if (server?.serviceCidr === undefined || server.serviceCidr === DEFAULT_SERVICE_CIDR || server.clusterDNS)
    return undefined;
  const network = parseNetwork(server.serviceCidr.split(',')[0]?.trim() ?? '');
  return network && formatIp({ family: network.family, value: firstAddress(network) + 10n });
}
