import { isIP } from 'node:net';
import { checkServerIdentity, type SecureContext } from 'node:tls';
import { ChannelCredentials, Client, type ClientOptions } from '@grpc/grpc-js';
import { type ProxySettings, proxyFor } from '../../net/proxy.ts';
import type { Config } from '../config/resolve-config.ts';
import { authorityOf, type Endpoint, urlOf } from './endpoint.ts';
import { loadTrust } from './trust.ts';

/** How the agent reaches servers: one trust store and one idea of proxies for HTTP and for gRPC. */
export interface Network {
  trust: SecureContext;
  proxies: ProxySettings;
}

export function createNetwork(config: Config): Network {
  return {
    trust: loadTrust(config.caCertificate),
    proxies: { httpProxy: config.httpProxy, httpsProxy: config.httpsProxy, noProxy: config.noProxy },
  };
}

/** Opens a gRPC channel; it connects when first used and reconnects by itself. Close it when done. */
export function openChannel(network: Network, endpoint: Endpoint): Client {
  const target = `dns:${authorityOf(endpoint)}`;
  const proxy = proxyFor(new URL(urlOf(endpoint, '/')), network.proxies);
  const credentials =
    endpoint.tls === 'off'
      ? ChannelCredentials.createInsecure()
      : ChannelCredentials.createFromSecureContext(network.trust, {
          rejectUnauthorized: endpoint.tls === 'verified',
          checkServerIdentity: (_name, certificate) => checkServerIdentity(endpoint.host, certificate),
        });
  const options: ClientOptions = {
    'grpc.enable_http_proxy': 0, // grpc-js would read process.env; we have decided already
    'grpc.service_config_disable_resolution': 1, // no TXT look-ups: they only cost time in a bare network
    'grpc.use_local_subchannel_pool': 1, // a channel that is thrown away takes its connection with it
    // Short, because our own retries (retry.ts) are what spares the server: a call they make should find a fresh connection.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1000,
    'grpc.dns_min_time_between_resolutions_ms': 100,
    // grpc-js sends the host as SNI, which Node refuses for an IP address; the certificate is still checked for that address.
    ...(isIP(endpoint.host) ? { 'grpc.ssl_target_name_override': 'ip-address.invalid' } : {}),
    'grpc.max_receive_message_length': 16 * 1024 * 1024, // cloud-init texts travel inside actions
  };
  if (!proxy) return new Client(target, credentials, options);
  const userInfo = decodeURIComponent(
    proxy.password ? `${proxy.username}:${proxy.password}` : proxy.username,
  );
  return new Client(`dns:${proxy.hostname}:${proxy.port || 80}`, credentials, {
    ...options,
    'grpc.default_authority': authorityOf(endpoint),
    'grpc.http_connect_target': target,
    ...(userInfo ? { 'grpc.http_connect_creds': userInfo } : {}),
  });
}
