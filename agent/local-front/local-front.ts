import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { openResponse } from '../../net/http.ts';
import { toKindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/resolve-config.ts';
import { urlOf } from '../connection/endpoint.ts';
import { explainCallError } from '../connection/explain.ts';
import type { Network } from '../connection/network.ts';
import type { Log } from '../report/log.ts';
import { rewriteLocalAddresses, type TokenKind, upstreamFor } from './upstream.ts';

export interface LocalFrontOptions {
  config: Config;
  network: Network;
  log: Log;
  token: (kind: TokenKind) => Promise<string | undefined>;
  /** After a 401: get a new one. */
  renewToken: (kind: TokenKind, rejected: string) => Promise<void>;
}

export interface LocalFront {
  ports: { files: number; registry: number };
  /** Points local addresses in an action's variables to this front. */
  rewrite: (environment: Record<string, string>) => Record<string, string>;
  close: () => Promise<void>;
}

/** The addresses EMF's workflows contain: 127.0.0.1 port 80 for files, port 7443 for the registry. */
const WELL_KNOWN = { files: 80, registry: 7443 };

/** Hop-by-hop headers (RFC 9110 7.6.1) and those that we set ourselves. */
const NOT_FORWARDED = new Set([
  'host',
  'authorization',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Serves the local addresses that workflows of EMF contain, adding TLS and the right bearer token, as Caddy does there. */
export async function startLocalFront(options: LocalFrontOptions): Promise<LocalFront> {
  const files = await listen('files', options);
  const registry = await listen('registry', options);
  const ports = { files: portOf(files), registry: portOf(registry) };
  const isWellKnown = ports.files === WELL_KNOWN.files && ports.registry === WELL_KNOWN.registry;
  return {
    ports,
    rewrite: (environment) => (isWellKnown ? environment : rewriteLocalAddresses(environment, ports)),
    close: async () => {
      for (const server of [files, registry]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

/** On the port workflows expect; where that is taken or forbidden, on any, and addresses are rewritten. */
async function listen(front: 'files' | 'registry', options: LocalFrontOptions): Promise<Server> {
  for (const port of [WELL_KNOWN[front], 0]) {
    const server = createServer((request, response) => void answer(front, request, response, options));
    const { promise, resolve } = Promise.withResolvers<boolean>();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => resolve(true));
    if (await promise) return server;
  }
  throw new Error('no free port on 127.0.0.1');
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function answer(
  front: 'files' | 'registry',
  request: IncomingMessage,
  response: ServerResponse,
  options: LocalFrontOptions,
): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://local'); // resolves ".." before it is judged
  const upstream = upstreamFor(front, pathname, options.config);
  if (!upstream) {
    response.writeHead(404).end('nothing is served here\n');
    return;
  }
  const url = urlOf(upstream.endpoint, pathname + search);
  try {
    const found = await forward(url, request, upstream.token, options);
    response.writeHead(found.statusCode ?? 502, withoutHopByHop(found.headers));
    await pipeline(found, response);
  } catch (thrown) {
    const error = toKindlingError(
      await explainCallError(options.network, upstream.endpoint, `fetching ${pathname}`, thrown),
    );
    options.log.warn({ code: error.code, url }, error.message);
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end(`${error.code}: ${error.message}\n`);
  }
}

async function forward(
  url: string,
  request: IncomingMessage,
  kind: TokenKind,
  options: LocalFrontOptions,
): Promise<IncomingMessage> {
  const token = await options.token(kind);
  const found = await send(url, request, token, options.network);
  const mayRepeat = request.method === 'GET' || request.method === 'HEAD';
  if (found.statusCode !== 401 || token === undefined || !mayRepeat) return found;
  found.destroy();
  await options.renewToken(kind, token);
  return send(url, request, await options.token(kind), options.network);
}

async function send(
  url: string,
  request: IncomingMessage,
  token: string | undefined,
  network: Network,
): Promise<IncomingMessage> {
  const mayHaveBody = request.method !== 'GET' && request.method !== 'HEAD';
  const found = await openResponse(network, url, {
    method: request.method ?? 'GET',
    headers: {
      ...withoutHopByHop(request.headers),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(mayHaveBody ? { body: request } : {}),
  });
  return found.raw;
}

function withoutHopByHop(headers: IncomingMessage['headers']): Record<string, string | string[] | undefined> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_FORWARDED.has(name)));
}
