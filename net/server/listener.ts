import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { KindlingError } from '../../protocol/error.ts';
import { plainAddress } from '../address-group.ts';
import { Slots } from '../slots.ts';
import { SilentConnections } from './silent-connections.ts';

/** Where connections go once it is known what they speak. */
export interface Protocols {
  http: HttpServer;
  /** Takes a connection that speaks HTTP/2: gRPC. */
  grpc: (socket: Socket) => void;
}

export interface Listener {
  port: number;
  close: () => Promise<void>;
}

export interface TlsListener extends Listener {
  /** Connections from now on get this certificate; those that are open go on. */
  renew: (tls: { key: string; cert: string }) => void;
}

const HTTP2_PREFACE_START = 'PRI ';
/** A client that connects and says nothing is dropped after this. */
const FIRST_WORD_TIMEOUT_MS = 20_000;
/** A node has a handful of connections; a thousand nodes may stand behind one address. */
const CONNECTIONS = { inAll: 16_384, perAddress: 4096 } as const;
/** A client says what it wants within milliseconds; 1,024 that say nothing are no clients. */
const MOST_SILENT = 1024;

export interface ListenAddress {
  host: string;
  port: number;
  /** How many connections may be open that have not asked for anything. */
  mostSilent?: number;
}

/**
 * One port for everything, told apart without a guess: gRPC clients offer only "h2" in the TLS handshake, while
 * everything that also speaks HTTP/1.1 says so. EMF's agents expect Keycloak, gRPC and files all on port 443.
 */
export async function listenTls(
  protocols: Protocols,
  tls: { key: string; cert: string },
  address: ListenAddress,
): Promise<TlsListener> {
  const silent = new SilentConnections(address.mostSilent ?? MOST_SILENT);
  const options = { minVersion: 'TLSv1.2' } as const;
  const server = createTlsServer({
    ...tls,
    ...options,
    handshakeTimeout: FIRST_WORD_TIMEOUT_MS,
    ALPNCallback: ({ protocols: offered }) =>
      offered.includes('http/1.1') ? 'http/1.1' : offered.includes('h2') ? 'h2' : undefined,
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') {
      silent.spoke(socket);
      protocols.grpc(socket);
    } else protocols.http.emit('connection', socket);
  });
  // A port scanner or a client that does not trust our CA: its own log says why.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  const listener = await listen(server, protocols.http, address, silent);
  return { ...listener, renew: (renewed) => server.setSecureContext({ ...renewed, ...options }) };
}

/** The same without TLS, for isolated networks: HTTP/2 connections start with a fixed preface. */
export function listenPlain(protocols: Protocols, address: ListenAddress): Promise<Listener> {
  const silent = new SilentConnections(address.mostSilent ?? MOST_SILENT);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    const giveUp = () => socket.destroy();
    socket.setTimeout(FIRST_WORD_TIMEOUT_MS, giveUp);
    socket.once('data', (first: Buffer) => {
      socket.setTimeout(0).off('timeout', giveUp);
      socket.pause();
      socket.unshift(first);
      const isHttp2 =
        first.subarray(0, HTTP2_PREFACE_START.length).toString('latin1') === HTTP2_PREFACE_START;
      if (isHttp2) {
        silent.spoke(socket);
        protocols.grpc(socket);
      } else protocols.http.emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  return listen(server, protocols.http, address, silent);
}

function listen(
  server: Server,
  http: HttpServer,
  { host, port }: ListenAddress,
  silent: SilentConnections,
): Promise<Listener> {
  const onRequest = ({ socket }: IncomingMessage) => silent.spoke(socket);
  http.on('request', onRequest);
  const sockets = new Set<Socket>();
  const slots = new Slots(CONNECTIONS);
  // Before anybody else hears of the connection: one too many is gone then.
  server.prependListener('connection', (socket) => {
    const address = plainAddress(socket.remoteAddress);
    const slot = slots.take(address);
    if (!slot) return void socket.destroy();
    sockets.add(socket);
    silent.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => {
      sockets.delete(socket);
      slot[Symbol.dispose]();
    });
  });
  const { promise, resolve, reject } = Promise.withResolvers<Listener>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    reject(new KindlingError('KND_STUB_LISTEN', `cannot listen on ${host} port ${port}`, { cause }));
  });
  server.listen({ host, port, backlog: 2048 }, () => {
    const close = () => {
      http.off('request', onRequest);
      return closeAll(server, sockets);
    };
    resolve({ port: (server.address() as AddressInfo).port, close });
  });
  return promise;
}

function closeAll(server: Server, sockets: Set<Socket>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const socket of sockets) socket.destroy();
  return promise;
}
