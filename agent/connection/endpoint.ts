import { KindlingError } from '../../protocol/error.ts';

/** A server and how to talk to it. */
export interface Endpoint {
  host: string;
  port: number;
  tls: 'verified' | 'unverified' | 'off';
}

/** Reads `host`, `host:port`, `[IPv6]:port` or a URL; the settings of EMF use all of them. */
export function parseEndpoint(name: string, tls: Endpoint['tls'], defaultPort?: number): Endpoint {
  const scheme = /^(https?):\/\//.exec(name)?.[1];
  const withoutScheme = name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(withoutScheme) ?? [];
  const host = bracketed ?? plain;
  const usedTls = scheme === 'http' ? 'off' : scheme === 'https' && tls === 'off' ? 'verified' : tls;
  const port = portText ? Number(portText) : (defaultPort ?? (usedTls === 'off' ? 80 : 443));
  if (!host || port < 1 || port > 65_535) {
    throw new KindlingError('KND_CONFIG_INVALID', `"${name}" is not a host, host:port or [IPv6]:port`);
  }
  return { host, port, tls: usedTls };
}

/** host:port as it is written in URLs and gRPC targets. */
export function authorityOf({ host, port }: Endpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function urlOf(endpoint: Endpoint, path: string): string {
  return `${endpoint.tls === 'off' ? 'http' : 'https'}://${authorityOf(endpoint)}${path}`;
}
