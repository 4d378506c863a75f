import http from 'node:http';
import https from 'node:https';
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

export interface HttpRequest {
  method?: string;
  headers?: Record<string, string | string[] | undefined>;
  body?: string | Buffer;
  signal?: AbortSignal;
  /** Until the response's head is there; 30 s by default. */
  timeoutMs?: number;
  /** Keep the connection for the next request to the same server. */
  isConnectionKept?: boolean;
}

export interface HttpResponse {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

/** Sends a small HTTP request and reads the whole answer. */
export async function fetchText(
  network: Network,
  url: string,
  request: HttpRequest = {},
): Promise<HttpResponse> {
  const outgoing = startRequest(network, url, { ...request, isConnectionKept: true });
  outgoing.end(request.body);
  let response: http.IncomingMessage;
  try {
    response = await responseOf(outgoing);
  } catch (error) {
    // The server closed a connection that was kept, at the very moment we used it again: not a failure of the server.
    if (outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET') {
      return fetchText(network, url, request);
    }
    throw error;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString(),
  };
}

/** Starts an HTTP request through the right proxy with the right trust; the caller writes the body and reads the answer. */
export function startRequest(network: Network, url: string, request: HttpRequest): http.ClientRequest {
  const { protocol } = new URL(url);
  const proxy = proxyFor(new URL(url), network.proxies);
  const options: https.RequestOptions = {
    method: request.method ?? 'GET',
    headers: request.headers as http.OutgoingHttpHeaders,
    timeout: request.timeoutMs ?? 30_000,
    ...(request.signal ? { signal: request.signal } : {}),
  };
  const send = protocol === 'https:' ? https.request : http.request;
  const outgoing = send(url, {
    ...options,
    agent: agentFor(network, protocol, proxy, request.isConnectionKept ?? false),
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${options.timeout} ms`)));
  return outgoing;
}

/** One agent per way to a server, so that small requests share connections; large bodies get a connection of their own. */
function agentFor(network: Network, protocol: string, proxy: URL | undefined, isKept: boolean): http.Agent {
  const agents = AGENTS.get(network) ?? new Map<string, http.Agent>();
  AGENTS.set(network, agents);
  const key = `${protocol} ${proxy?.href ?? ''} ${isKept}`;
  const known = agents.get(key);
  if (known) return known;
  const options = {
    keepAlive: isKept,
    ...(proxy ? { proxyEnv: { HTTP_PROXY: proxy.href, HTTPS_PROXY: proxy.href } } : {}),
  };
  const agent =
    protocol === 'https:'
      ? new https.Agent({ ...options, secureContext: network.trust })
      : new http.Agent(options);
  agents.set(key, agent);
  return agent;
}

const AGENTS = new WeakMap<Network, Map<string, http.Agent>>();

export function responseOf(outgoing: http.ClientRequest): Promise<http.IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  outgoing.on('response', resolve);
  outgoing.on('error', reject);
  return promise;
}
