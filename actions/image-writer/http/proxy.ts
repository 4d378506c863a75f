import { isReachedDirectly } from '../../../net/no-proxy.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { Transport } from '../interface.ts';

export type Proxies = Pick<Transport, 'httpProxy' | 'httpsProxy' | 'noProxy'>;

/** The proxy to use for an address, by the rules of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
export function proxyFor(url: URL, transport: Proxies): URL | undefined {
  const isTls = url.protocol === 'https:';
  const proxy = isTls ? transport.httpsProxy : transport.httpProxy;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (isTls ? 443 : 80);
  if (!proxy || isReachedDirectly(host, port, transport.noProxy)) return undefined;
  const found = URL.parse(proxy.includes('://') ? proxy : `http://${proxy}`);
  if (found && /^https?:$/.test(found.protocol)) return found;
  throw new KindlingError('KND_USAGE', `the proxy for ${url.host} is neither an http nor an https address`);
}
