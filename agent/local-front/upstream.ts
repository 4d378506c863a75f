import type { Config } from '../config/resolve-config.ts';
import { type Endpoint, parseEndpoint } from '../connection/endpoint.ts';

/** Which of the node's tokens a server wants. */
export type TokenKind = 'access' | 'release';

export interface Upstream {
  endpoint: Endpoint;
  token: TokenKind;
}

/** The server behind a local address, as EMF's Caddy has it; undefined for what it does not serve. */
export function upstreamFor(front: 'files' | 'registry', path: string, config: Config): Upstream | undefined {
  const tls = config.tls ? 'verified' : 'off';
  const to = (name: string | undefined, token: TokenKind) =>
    name === undefined ? undefined : { endpoint: parseEndpoint(name, tls), token };
  if (front === 'registry') return to(config.registryServer, 'release');
  if (path.startsWith('/tink-stack/')) return to(config.tinkStack, 'access');
  if (path.startsWith('/files-edge-orch/')) return to(config.releaseServer, 'release');
  return undefined;
}

const FILES_URL = /^http:\/\/(?:127\.0\.0\.1|localhost)(?::80)?(?=\/(?:tink-stack|files-edge-orch)\/)/;
const REGISTRY_URL = /^(http:\/\/)?(?:127\.0\.0\.1|localhost):7443(?=\/|$)/;

/**
 * Points values that are local addresses to where the front really listens. Only whole values: a local address inside a file that
 * is written to the disk is meant for the installed system.
 */
export function rewriteLocalAddresses(
  environment: Record<string, string>,
  ports: { files: number; registry: number },
): Record<string, string> {
  const rewritten = Object.entries(environment).map(([name, value]) => [
    name,
    value
      .replace(FILES_URL, `http://127.0.0.1:${ports.files}`)
      .replace(REGISTRY_URL, (_, scheme: string | undefined) => `${scheme ?? ''}127.0.0.1:${ports.registry}`),
  ]);
  return Object.fromEntries(rewritten);
}
