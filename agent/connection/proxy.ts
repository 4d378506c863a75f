import { BlockList, isIP } from 'node:net';
import type { Endpoint } from './endpoint.ts';

export interface ProxySettings {
  httpProxy?: string | undefined;
  httpsProxy?: string | undefined;
  noProxy?: string | undefined;
}

/**
 * The proxy for an endpoint, or undefined for a direct connection. grpc-js and Node both have their own idea of this, but
 * neither reads our config, and each lacks something of no_proxy (CIDR, IPv6 ranges, ports, «*»): so we decide, for both.
 */
export function proxyFor({ host, port, tls }: Endpoint, settings: ProxySettings): URL | undefined {
  const chosen = (tls === 'off' ? settings.httpProxy : settings.httpsProxy) || undefined;
  if (chosen === undefined || isLoopback(host)) return undefined;
  if (isExcluded(host, port, settings.noProxy ?? '')) return undefined;
  const withScheme = chosen.includes('://') ? chosen : `http://${chosen}`;
  return URL.canParse(withScheme) ? new URL(withScheme) : undefined;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

/** no_proxy as curl, Go and people write it: names, .suffixes, *.suffixes, addresses, CIDR ranges, host:port, «*». */
function isExcluded(host: string, port: number, noProxy: string): boolean {
  const name = host.toLowerCase();
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
