import { lookup } from 'node:dns/promises';
import http from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { proxyFor } from '../../net/proxy.ts';
import { certificateRefusedPath } from '../../protocol/certificate-refusal.ts';
import { KindlingError } from '../../protocol/error.ts';
import { describeCertificateError, type SeenCertificate } from './certificate-error.ts';
import { authorityOf, type Endpoint, urlOf } from './endpoint.ts';
import type { Network } from './network.ts';
import { readServerTime } from './server-time.ts';

const RUNG_TIMEOUT_MS = 5000;

/**
 * Climbs the ladder to a server rung by rung — DNS, TCP, proxy, TLS, clock — and gives the error of the first that breaks, or
 * undefined if all hold and the trouble is further up (HTTP status, gRPC code, in-band code).
 */
export async function findBrokenRung(
  network: Network,
  endpoint: Endpoint,
): Promise<KindlingError | undefined> {
  const proxy = proxyFor(new URL(urlOf(endpoint, '/')), network.proxies);
  const hop = proxy ? { host: proxy.hostname, port: Number(proxy.port || 80) } : endpoint;
  const hopName = proxy ? `proxy ${hop.host}` : hop.host;
  let socket: Socket | undefined;
  try {
    await resolveName(hop.host, hopName);
    socket = await openTcp(hop.host, hop.port, hopName);
    if (proxy) socket = await openTunnel(socket, proxy, endpoint);
    if (endpoint.tls === 'off') return undefined;
    await checkTls(network, endpoint, socket);
    return undefined;
  } catch (error) {
    if (error instanceof KindlingError) return error;
    throw error;
  } finally {
    socket?.destroy();
  }
}

async function resolveName(host: string, name: string): Promise<void> {
  if (isIP(host)) return;
  try {
    await lookup(host);
  } catch (cause) {
    throw new KindlingError('KND_CONNECT_DNS', `the name of ${name} cannot be resolved`, { cause });
  }
}

async function openTcp(host: string, port: number, name: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connectTcp({ host, port, timeout: RUNG_TIMEOUT_MS });
  const fail = (message: string, cause?: unknown) => {
    socket.destroy();
    reject(new KindlingError('KND_CONNECT_TCP', message, { cause }));
  };
  socket.once('connect', () => resolve(socket));
  socket.once('timeout', () => fail(`${name} port ${port} does not answer (no reply within 5 s)`));
  socket.on('error', (cause: NodeJS.ErrnoException) =>
    fail(`no connection to ${name} port ${port}: ${tcpReason(cause)}`, cause),
  );
  return promise;
}

function tcpReason({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return 'refused (nothing listens there, or a firewall rejects it)';
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'no route to it';
  return message || (code ?? 'unknown reason');
}

function openTunnel(socket: Socket, proxy: URL, endpoint: Endpoint): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const userInfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const request = http.request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: authorityOf(endpoint),
    timeout: RUNG_TIMEOUT_MS,
    headers: {
      host: authorityOf(endpoint),
      ...(proxy.username
        ? { 'proxy-authorization': `Basic ${Buffer.from(userInfo).toString('base64')}` }
        : {}),
    },
  });
  const fail = (reason: string, cause?: unknown) =>
    reject(
      new KindlingError(
        'KND_CONNECT_PROXY',
        `the proxy ${proxy.host} does not let us through to ${authorityOf(endpoint)}: ${reason}`,
        { cause },
      ),
    );
  request.once('connect', (response, tunnel: Socket) => {
    if (response.statusCode === 200) resolve(tunnel);
    else fail(`HTTP ${response.statusCode} ${response.statusMessage ?? ''}`.trim());
  });
  request.once('response', (response) => fail(`HTTP ${response.statusCode}`));
  request.once('timeout', () => request.destroy(new Error('no answer within 5 s')));
  request.once('error', (cause) => fail(cause.message, cause));
  request.end();
  return promise;
}

/** A handshake that accepts everything, so that we see the certificate; then says what a strict one would have said. */
async function checkTls(network: Network, endpoint: Endpoint, socket: Socket): Promise<void> {
  const tlsSocket = await handshake(network, endpoint, socket);
  const certificate = tlsSocket.getPeerCertificate() as unknown as SeenCertificate;
  const reason = tlsSocket.authorizationError as Error | string | null | undefined;
  if (endpoint.tls === 'unverified' || !reason) {
    tlsSocket.destroy();
    return;
  }
  const code =
    typeof reason === 'string' ? reason : ((reason as NodeJS.ErrnoException).code ?? reason.message);
  const serverTime = await readServerTime(tlsSocket, endpoint, certificateRefusedPath(code), RUNG_TIMEOUT_MS);
  tlsSocket.destroy();
  throw describeCertificateError(endpoint.host, certificate, code, { now: Date.now(), serverTime });
}

function handshake(network: Network, endpoint: Endpoint, socket: Socket): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const tlsSocket = connectTls({
    socket,
    host: endpoint.host,
    ...(isIP(endpoint.host) ? {} : { servername: endpoint.host }),
    secureContext: network.trust,
    ALPNProtocols: ['h2', 'http/1.1'],
    rejectUnauthorized: false,
  });
  tlsSocket.setTimeout(RUNG_TIMEOUT_MS, () => tlsSocket.destroy(new Error('no answer within 5 s')));
  tlsSocket.once('secureConnect', () => resolve(tlsSocket));
  tlsSocket.once('error', (cause: NodeJS.ErrnoException) => {
    const isPlain =
      cause.code === 'ERR_SSL_WRONG_VERSION_NUMBER' || cause.code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG';
    reject(
      new KindlingError(
        'KND_CONNECT_TLS',
        isPlain
          ? `${authorityOf(endpoint)} does not speak TLS`
          : `the TLS handshake with ${authorityOf(endpoint)} failed: ${cause.message}`,
        {
          cause,
          ...(isPlain
            ? { hint: 'If the server is meant to be plain, set tinkerbell_tls=false or kindling.tls=false.' }
            : {}),
        },
      ),
    );
  });
  return promise;
}
