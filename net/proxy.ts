import { KindlingError } from '../protocol/error.ts';
import { isReachedDirectly } from './no-proxy.ts';

/** As in the environment: HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
export interface ProxySettings {
  httpProxy?: string | undefined;
  httpsProxy?: string | undefined;
  noProxy?: string | undefined;
}

/**
 * The proxy for an address, or undefined for a direct connection. grpc-js and Node both have their own idea of this, but
 * neither reads our config, and each lacks something of no_proxy (CIDR, IPv6 ranges, ports, "*"): so we decide, for all.
 */
export function proxyFor(url: URL, settings: ProxySettings): URL | undefined {
  const isTls = url.protocol === 'https:';
  const chosen = isTls ? settings.httpsProxy : settings.httpProxy;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (isTls ? 443 : 80);
  if (!chosen || isReachedDirectly(host, port, settings.noProxy)) return undefined;
  const proxy = URL.parse(chosen.includes('://') ? chosen : `http://${chosen}`);
  if (proxy && /^https?:$/.test(proxy.protocol)) return proxy;
  // The value is not repeated: it may hold a password.
  throw new KindlingError('KND_USAGE', `the proxy for ${url.host} is neither an http nor an https address`);
}

/** The proxies of the environment. The agent passes the site's on to its actions so, in small letters, because not every program reads the large ones. */
export function proxiesOfEnvironment(environment: NodeJS.ProcessEnv = process.env): ProxySettings {
  const either = (name: string) => environment[name] ?? environment[name.toUpperCase()];
  return { httpProxy: either('http_proxy'), httpsProxy: either('https_proxy'), noProxy: either('no_proxy') };
}
