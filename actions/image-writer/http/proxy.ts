import { BlockList, isIP } from 'node:net';
import { KindlingError } from '../../../protocol/error.ts';
import type { Transport } from '../interface.ts';

/** The proxy to use for an address, by the rules of HTTP_PROXY, HTTPS_PROXY and NO_PROXY (names, suffixes, CIDR). */
export function proxyFor(url: URL, transport: Transport): URL | undefined {
  const proxy = url.protocol === 'https:' ? transport.httpsProxy : transport.httpProxy;
  if (!proxy || bypasses(url, transport.noProxy ?? '')) return undefined;
  const found = URL.parse(proxy.includes('://') ? proxy : `http://${proxy}`);
  if (found && /^https?:$/.test(found.protocol)) return found;
  throw new KindlingError('KND_USAGE', `the proxy for ${url.host} is neither an http nor an https address`);
}

function bypasses(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return true;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => matches(entry.toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const family = isIP(host);
  const [network, bits] = entry.split('/');
  if (bits !== undefined && network !== undefined) {
    const isRange = /^\d+$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32);
    if (family === 0 || isIP(network) !== family || !isRange) return false;
    const list = new BlockList();
    list.addSubnet(network, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
    return list.check(host, family === 6 ? 'ipv6' : 'ipv4');
  }
  const withPort = /^(.*):(\d+)$/.exec(entry);
  if (withPort && family !== 6) return withPort[2] === port && matches(withPort[1] ?? '', host, port);
  const suffix = entry.replace(/^\*?\./, '');
  return host === suffix || (family === 0 && host.endsWith(`.${suffix}`));
}
