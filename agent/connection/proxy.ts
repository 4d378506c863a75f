import { isReachedDirectly } from '../../net/no-proxy.ts';
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
  if (chosen === undefined || isReachedDirectly(host, port, settings.noProxy)) return undefined;
  const withScheme = chosen.includes('://') ? chosen : `http://${chosen}`;
  return URL.canParse(withScheme) ? new URL(withScheme) : undefined;
}
