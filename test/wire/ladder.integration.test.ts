import { createServer as createHttp2, type Http2Server } from 'node:http2';
import { createServer as createHttps, type Server as HttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { createSecureContext } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrokenRung } from '../../agent/connection/diagnose.ts';
import type { Endpoint } from '../../agent/connection/endpoint.ts';
import type { Network } from '../../agent/connection/network.ts';
import { waitFor } from '../../system/wait.ts';
import { startConnectProxy } from './reference/connect-proxy.ts';
import { startGrpcHost } from './reference/grpc-host.ts';
import { removeFolder, shownCodes, startTestAgent } from './reference/test-agent.ts';
import { type Certificate, createTestCa, type TestCa } from './reference/test-ca.ts';

const HOUR_MS = 3_600_000;
let ca: TestCa;
let network: Network;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  ca = await createTestCa('Site CA');
  network = { trust: createSecureContext({ ca: ca.pem }), proxies: {} };
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function listen(server: HttpsServer | Http2Server | ReturnType<typeof createTcp>): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A TLS server that says it is `serverTime` o'clock. */
async function tlsServer(certificate: Certificate, serverTime?: number): Promise<Endpoint> {
  const server = createHttps(certificate, (_request, response) => {
    response.sendDate = false;
    if (serverTime !== undefined) response.setHeader('date', new Date(serverTime).toUTCString());
    response.end();
  });
  cleanups.push(() => server.closeAllConnections());
  return { host: '127.0.0.1', port: await listen(server), tls: 'verified' };
}

describe('the ladder to a server', () => {
  it('holds where everything is right', async () => {
    expect(await findBrokenRung(network, await tlsServer(await ca.issue(), Date.now()))).toBeUndefined();
  });

  it('breaks at DNS', async () => {
    const rung = await findBrokenRung(network, { host: 'no-such-host.invalid', port: 443, tls: 'verified' });
    expect(rung).toMatchObject({ code: 'KND_CONNECT_DNS', retryable: true });
    expect(rung?.message).toContain('no-such-host.invalid');
  });

  it('breaks at TCP: refused', async () => {
    const server = createTcp();
    const port = await listen(server);
    server.close();
    const rung = await findBrokenRung(network, { host: '127.0.0.1', port, tls: 'verified' });
    expect(rung).toMatchObject({ code: 'KND_CONNECT_TCP' });
    expect(rung?.message).toContain('refused');
  });

  it('breaks at the proxy: refused by it, named with its answer', async () => {
    const proxy = await startConnectProxy();
    cleanups.push(() => proxy.close());
    proxy.status = 403;
    const behind = { ...network, proxies: { httpsProxy: proxy.url } };
    const rung = await findBrokenRung(behind, { host: 'server.example', port: 443, tls: 'verified' });
    expect(rung).toMatchObject({ code: 'KND_CONNECT_PROXY' });
    expect(rung?.message).toContain('HTTP 403');
  });

  it('breaks at the proxy: its name cannot be resolved', async () => {
    const behind = { ...network, proxies: { httpsProxy: 'http://no-such-proxy.invalid:911' } };
    const rung = await findBrokenRung(behind, { host: 'server.example', port: 443, tls: 'verified' });
    expect(rung).toMatchObject({ code: 'KND_CONNECT_DNS' });
    expect(rung?.message).toContain('proxy no-such-proxy.invalid');
  });

  it('breaks at TLS: the server is plain', async () => {
    const server = createTcp((socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    const rung = await findBrokenRung(network, {
      host: '127.0.0.1',
      port: await listen(server),
      tls: 'verified',
    });
    expect(rung).toMatchObject({ code: 'KND_CONNECT_TLS' });
    expect(rung?.message).toContain('does not speak TLS');
  });

  it('breaks at TLS: another CA, naming certificate and issuer', async () => {
    const other = await createTestCa('Somebody else’s CA');
    const rung = await findBrokenRung(network, await tlsServer(await other.issue()));
    expect(rung).toMatchObject({ code: 'KND_CONNECT_TLS_UNTRUSTED' });
    expect(rung?.message).toContain('issued by Somebody else’s CA');
  });

  it('breaks at TLS: a certificate for another name', async () => {
    const endpoint = await tlsServer(await ca.issue({ names: ['other.example'] }));
    expect(await findBrokenRung(network, endpoint)).toMatchObject({ code: 'KND_CONNECT_TLS_NAME' });
  });

  it('breaks at TLS: expired, and both clocks agree', async () => {
    const certificate = await ca.issue({
      notBefore: new Date(Date.now() - 48 * HOUR_MS),
      notAfter: new Date(Date.now() - 24 * HOUR_MS),
    });
    const rung = await findBrokenRung(network, await tlsServer(certificate, Date.now()));
    expect(rung).toMatchObject({ code: 'KND_CONNECT_TLS_EXPIRED' });
  });

  it.each([
    ['an hour behind, by the server’s own clock', HOUR_MS],
    ['behind, and the server does not say what time it is', undefined],
  ])('breaks at the clock: the node’s is %s', async (_title, offset) => {
    const certificate = await ca.issue({ notBefore: new Date(Date.now() + HOUR_MS / 2) });
    const endpoint = await tlsServer(certificate, offset === undefined ? undefined : Date.now() + offset);
    const rung = await findBrokenRung(network, endpoint);
    expect(rung).toMatchObject({ code: 'KND_CLOCK_SKEW' });
    expect(rung?.hint).toContain('NTP');
  });

  it('breaks at the clock: the node’s is ahead of the certificate’s end, the server’s is not', async () => {
    const certificate = await ca.issue({
      notBefore: new Date(Date.now() - 48 * HOUR_MS),
      notAfter: new Date(Date.now() - HOUR_MS),
    });
    const endpoint = await tlsServer(certificate, Date.now() - 2 * HOUR_MS);
    expect(await findBrokenRung(network, endpoint)).toMatchObject({ code: 'KND_CLOCK_SKEW' });
  });

  it('does not judge certificates where that is switched off', async () => {
    const other = await createTestCa();
    const endpoint = await tlsServer(await other.issue());
    expect(await findBrokenRung(network, { ...endpoint, tls: 'unverified' })).toBeUndefined();
  });
});

describe('above the ladder', () => {
  it.each([
    [503, 'KND_SERVER_HTTP_STATUS'],
    [404, 'KND_SERVER_HTTP_STATUS'],
    [403, 'KND_PERMISSION_DENIED'],
    [401, 'KND_UNAUTHENTICATED'],
  ])('a gateway that answers HTTP %i is named', async (status, code) => {
    const gateway = createHttp2();
    gateway.on('request', (_request, response) => {
      response.writeHead(status).end();
    });
    const port = await listen(gateway);
    const agent = startTestAgent({ kernel: `grpc_authority=127.0.0.1:${port} tinkerbell_tls=false` });
    cleanups.push(async () => {
      await agent.stop();
      removeFolder(agent);
    });
    await waitFor(() => shownCodes(agent)[0], { name: 'a code', timeoutMs: 30_000, intervalMs: 10 });
    expect(shownCodes(agent)[0]).toBe(code);
  });

  it('a gRPC server without the service is named', async () => {
    const host = await startGrpcHost(() => {});
    cleanups.push(() => host.kill());
    const agent = startTestAgent({ kernel: `grpc_authority=${host.authority} tinkerbell_tls=false` });
    cleanups.push(async () => {
      await agent.stop();
      removeFolder(agent);
    });
    await waitFor(() => shownCodes(agent)[0], { name: 'a code', timeoutMs: 30_000, intervalMs: 10 });
    expect(shownCodes(agent)[0]).toBe('KND_SERVER_PROTOCOL');
  });
});
