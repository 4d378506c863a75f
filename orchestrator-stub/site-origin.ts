import { isIP } from 'node:net';
import { isNamed } from '../net/server/http-server.ts';

export interface SiteOriginParts {
  /** Names and addresses of the server certificate. */
  names: () => readonly string[];
  /** Ports that are listened on. */
  ports: () => readonly number[];
  /** The server's own address, for when a caller gives another. */
  own: () => string;
}

/**
 * The address of this server that a caller is told. What a caller calls us is its own word, and ends up in scripts that run as root:
 * only a name or address of the certificate with a port of ours is taken from it.
 */
export function siteOrigin(
  { names, ports, own }: SiteOriginParts,
  authority: string,
  scheme: string,
): string {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9.-]{1,253}))(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) return own();
  const isOurPort = port === undefined || ports().includes(Number(port));
  const isOurs = isIP(host) ? isKnownAddress(host, names()) : isNamed(host, names());
  return isOurs && isOurPort ? `${scheme}://${authority.toLowerCase()}` : own();
}

function isKnownAddress(host: string, names: readonly string[]): boolean {
  const wanted = canonical(host);
  return names.some((name) => isIP(name) !== 0 && canonical(name) === wanted);
}

/** IPv6 addresses are written in several ways; a URL knows one. */
function canonical(address: string): string {
  return isIP(address) === 6 ? new URL(`http://[${address}]`).hostname : address;
}

/** The address for others, who would find themselves at "localhost". */
export function outsideOrigin(origin: string, own: string): string {
  return new URL(origin).hostname === 'localhost' ? own : origin;
}
