import { createSecureContext } from 'node:tls';
import type { HttpNetwork } from './http.ts';
import { proxiesOfEnvironment } from './proxy.ts';

/**
 * How an action, or a program of the operator, reaches servers: through the proxies of its environment, which the agent sets to
 * the site's. Certificates (PEM, or Base64 of it) replace the roots of the process, which in an action hold the site's CA.
 */
export function siteNetwork(certificates?: string | readonly string[]): HttpNetwork {
  const proxies = proxiesOfEnvironment();
  if (certificates === undefined) return { proxies };
  return { proxies, trust: createSecureContext({ ca: [certificates].flat().map(decodePem) }) };
}

/** In variables of actions certificates come either way. */
export function decodePem(text: string): string {
  return text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64').toString();
}
