import { BlockList, isIP } from 'node:net';

/** Addresses of the machine itself are never asked for through a proxy. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

/**
 * Whether a host (an IPv6 address without its brackets) is reached without the proxy: it is the machine itself, or no_proxy names it as
 * curl, Go and people write it: names, .suffixes, *.suffixes, addresses, CIDR ranges, host:port, "*".
 */
export function isReachedDirectly(host: string, port: number, noProxy = ''): boolean {
  const name = host.toLowerCase();
  if (isLoopback(name)) return true;
  return noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => matches(name, port, entry.toLowerCase()));
}

function matches(host: string, port: number, entry: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isInRange(host, entry);
  const [, name = entry, entryPort] = /^(.*?)(?::(\d+))?$/.exec(isIP(entry) === 6 ? '' : entry) ?? [];
  if (entryPort !== undefined && Number(entryPort) !== port) return false;
  const plain = (name === '' ? entry : name).replace(/^\*?\./, '').replace(/^\[|\]$/g, '');
  return host === plain || (isIP(host) === 0 && host.endsWith(`.${plain}`));
}

function isInRange(host: string, range: string): boolean {
  const [network = '', bits = ''] = range.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d+$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), kind);
  return list.check(host, kind);
}
