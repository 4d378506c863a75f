import { isLoopback } from '../../net/no-proxy.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/resolve-config.ts';
import { type Endpoint, parseEndpoint } from '../connection/endpoint.ts';

export interface WorkflowEndpoint {
  endpoint: Endpoint;
  /** Whether the node's access token goes along. */
  sendsToken: boolean;
}

/**
 * Where the workflow server is. EMF's boot script names a proxy on the node itself (127.0.0.1:42113) that adds TLS and token;
 * we are that proxy, so the address behind it counts. A token never goes over a plain connection, unless the site is plain, and never to a server that is not verified.
 */
export function decideWorkflowEndpoint(config: Config): WorkflowEndpoint {
  const { grpcAuthority, tinkServer } = config;
  const siteTls = config.tls ? 'verified' : 'off';
  const tinkerbellTls = config.tinkerbellInsecureTls ? 'unverified' : 'verified';
  const named =
    grpcAuthority === undefined
      ? undefined
      : parseEndpoint(grpcAuthority, config.tinkerbellTls ? tinkerbellTls : 'off', 443);
  if (tinkServer !== undefined && (named === undefined || isLoopback(named.host))) {
    return { endpoint: parseEndpoint(tinkServer, siteTls), sendsToken: true };
  }
  if (named === undefined) {
    throw new KindlingError(
      'KND_CONFIG_MISSING',
      'neither grpc_authority nor tink_server_svc nor kindling.server is set',
    );
  }
  // Without a look at the certificate nobody knows who would get it.
  return { endpoint: named, sendsToken: named.tls === 'verified' || (named.tls === 'off' && !config.tls) };
}
