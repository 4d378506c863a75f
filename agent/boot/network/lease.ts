import { isIPv4 } from 'node:net';

/** What an interface got, by DHCP or by hand: enough to configure it and to tell the rest of the agent. */
export interface Lease {
  interface: string;
  address: string;
  prefix: number;
  gateways: string[];
  /** Routes of option 121; when there are any they replace the gateways (RFC 3442). */
  routes: { to: string; gateway: string }[];
  nameservers: string[];
  searchDomains: string[];
  ntpServers: string[];
  hostname?: string;
  mtu?: number;
  source: 'dhcp' | 'fixed';
}

/** Reads what busybox' udhcpc hands to its script: NUL-separated variables. undefined if there is no usable address. */
export function parseLease(environment: Buffer | string): Lease | undefined {
  const variables = new Map(
    environment
      .toString()
      .split('\0')
      .flatMap((entry) => {
        const equals = entry.indexOf('=');
        return equals < 0 ? [] : [[entry.slice(0, equals), entry.slice(equals + 1).trim()] as const];
      }),
  );
  const list = (name: string) => (variables.get(name) ?? '').split(/\s+/).filter(Boolean);
  const addresses = (name: string) => list(name).filter((address) => isIPv4(address));
  const device = variables.get('interface');
  const address = variables.get('ip');
  if (!device || !address || !isIPv4(address)) return undefined;
  const hostname = variables.get('hostname');
  const mtu = Number(variables.get('mtu'));
  return {
    interface: device,
    address,
    prefix: prefixLength(variables.get('mask'), variables.get('subnet')),
    gateways: addresses('router'),
    routes: pairs(list('staticroutes')),
    nameservers: addresses('dns'),
    searchDomains: [...new Set([...list('search'), ...list('domain')])].filter(isDomain),
    ntpServers: list('ntpsrv').filter((server) => /^[A-Za-z0-9.:-]+$/.test(server)),
    ...(hostname && isDomain(hostname) ? { hostname } : {}),
    ...(mtu >= 576 && mtu <= 9216 ? { mtu } : {}),
    source: 'dhcp',
  };
}

/** udhcpc gives the prefix length as `mask` and the netmask as `subnet`. */
function prefixLength(mask: string | undefined, subnet: string | undefined): number {
  const given = Number(mask);
  if (mask && Number.isInteger(given) && given >= 0 && given <= 32) return given;
  const bits = (subnet ?? '255.255.255.0')
    .split('.')
    .map((byte) => Number(byte).toString(2))
    .join('');
  return bits.split('1').length - 1;
}

/** "10.1.0.0/16 10.0.0.1 0.0.0.0/0 10.0.0.2" */
function pairs(words: readonly string[]): { to: string; gateway: string }[] {
  const routes: { to: string; gateway: string }[] = [];
  for (let index = 0; index + 1 < words.length; index += 2) {
    const [to = '', gateway = ''] = [words[index], words[index + 1]];
    if (/^[\d.]+\/\d+$/.test(to) && isIPv4(gateway)) routes.push({ to, gateway });
  }
  return routes;
}

function isDomain(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9.-]{0,250})$/.test(text);
}
