import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OtlpRecord, readOtlpJson } from '../../orchestrator-stub/http/otlp.ts';
import { pause } from '../../system/wait.ts';
import { until } from './reference/agents.ts';
import { type ConnectProxy, startConnectProxy } from './reference/connect-proxy.ts';
import { EmfSite } from './reference/emf-site.ts';
import { type GrpcHost, startGrpcHost } from './reference/grpc-host.ts';
import type { Keycloak } from './reference/keycloak.ts';
import { type OnboardingManager, rows } from './reference/onboarding-manager.ts';
import { shownCodes, type TestAgentOptions, UUID } from './reference/test-agent.ts';
import { createTestCa } from './reference/test-ca.ts';
import type { TinkLegacyServer } from './reference/tink-legacy-server.ts';

let site: EmfSite;
let keycloak: Keycloak;
let manager: OnboardingManager;
let tink: TinkLegacyServer;
let host: GrpcHost;
let proxy: ConnectProxy | undefined;

beforeEach(async () => {
  site = await EmfSite.start({
    names: ['127.0.0.1', 'localhost', 'proxied.test'],
    actions: ['write', 'reboot'],
  });
  ({ keycloak, manager, tink, host } = site);
});

afterEach(async () => {
  await site.stop();
  await proxy?.close();
  proxy = undefined;
});

const start = (setup?: TestAgentOptions) => site.startAgent(setup);

describe('tokens', () => {
  it('trap 15: are renewed before they end, while an action runs, without disturbing it', async () => {
    keycloak.lifetimeSeconds = 1;
    const seen: string[] = [];
    tink.authorize = (authorization) => {
      seen.push(authorization);
      return keycloak.valid.has(authorization.replace('Bearer ', ''));
    };
    const { ended, executed } = start({
      script: async (work) => {
        if (work.name === 'write') {
          await pause(1800);
          const [oldest] = keycloak.valid;
          keycloak.valid.delete(oldest ?? ''); // the first has expired by now
        }
        return {
          state: 'success',
          message: 'ok',
          ...(work.name === 'reboot' ? { handOver: { kind: 'reboot' as const } } : {}),
        };
      },
    });
    await ended;
    expect(executed).toEqual(['write', 'reboot']);
    expect(keycloak.forms.length).toBeGreaterThanOrEqual(3);
    expect(new Set(seen).size).toBeGreaterThan(1);
  });

  it('that the server does not accept any more are renewed at once', async () => {
    const { ended, executed } = start({
      script: (work) => {
        if (work.name === 'write') keycloak.revokeAll();
        return { state: 'success', message: 'ok' };
      },
    });
    await ended;
    expect(executed).toEqual(['write', 'reboot']);
    expect(keycloak.forms).toHaveLength(2);
  });

  it.each([3600, -3600])(
    'work although the server’s clock is %i s off; the difference is told',
    async (offset) => {
      keycloak.clockOffsetSeconds = offset;
      const { ended, lines } = start();
      await ended;
      expect(tink.isDone).toBe(true);
      expect(lines.join('\n')).toContain('KND_CLOCK_SKEW');
    },
  );

  it('missing for the release server are no reason to stop', async () => {
    keycloak.releaseToken = 'null';
    const { ended, lines } = start();
    await ended;
    expect(tink.isDone).toBe(true);
    expect(lines.join('\n')).toContain('no release token');
  });
});

describe('a fault that goes away', () => {
  it('server down at the start', async () => {
    host.kill();
    const running = start();
    await until(() => shownCodes(running).includes('KND_CONNECT_TCP'), 'KND_CONNECT_TCP');
    await host.start();
    await running.ended;
    expect(tink.isDone).toBe(true);
  });

  it('wrong CA', async () => {
    const other = await createTestCa('Wrong CA');
    const port = host.port;
    host.kill();
    const wrong = await startGrpcHost(site.addServices, { certificate: await other.issue(), port });
    const running = start();
    await until(() => shownCodes(running).includes('KND_CONNECT_TLS_UNTRUSTED'), 'KND_CONNECT_TLS_UNTRUSTED');
    wrong.kill();
    await host.start();
    await running.ended;
    expect(tink.isDone).toBe(true);
  });

  it('clock an hour behind: the certificate is not valid yet for the node, which says so, and goes on when the clock is right', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000);
    const { port } = host;
    host.kill();
    const early = await startGrpcHost(site.addServices, {
      certificate: await site.ca.issue({ notBefore: inAnHour }),
      port,
    });
    const running = start();
    await until(() => shownCodes(running).length > 0, 'an error');
    expect(shownCodes(running)[0]).toBe('KND_CONNECT_TLS_EXPIRED');
    early.kill();
    await host.start();
    await running.ended;
    expect(tink.isDone).toBe(true);
  });

  it('proxy refusing; then everything, gRPC and HTTP, goes through it, with its password', async () => {
    proxy = await startConnectProxy();
    proxy.status = 407;
    const withUser = proxy.url.replace('//', '//user:pa%20ss@');
    const running = start({
      env: {
        onboarding_stream_svc: 'proxied.test',
        KEYCLOAK_URL: `proxied.test:${keycloak.authority.split(':')[1]}`,
        tink_server_svc: `proxied.test:${host.port}`,
        https_proxy: withUser,
      },
    });
    await until(() => shownCodes(running).includes('KND_CONNECT_PROXY'), 'KND_CONNECT_PROXY');
    proxy.status = 200;
    await running.ended;
    expect(tink.isDone).toBe(true);
    expect(proxy.tunnels[0]).toEqual({
      target: `proxied.test:${host.port}`,
      authorization: `Basic ${Buffer.from('user:pa ss').toString('base64')}`,
    });
  });

  it('token server down', async () => {
    keycloak.failures = [500, 502, 503];
    const running = start();
    await running.ended;
    expect(shownCodes(running)).toEqual(['KND_SERVER_HTTP_STATUS']);
  });
});

describe('logs', () => {
  it('reach an OTLP collector in order, from the first line on, although it fails at first', async () => {
    keycloak.logFailures = [503, 401];
    const { ended } = start({ env: { logging_svc: keycloak.authority } });
    await ended;
    const records = keycloak.logs.flatMap(({ body }) => readOtlpJson(JSON.parse(body)));
    const sequences = records.map(({ attributes }) => attributes['kindling.sequence']);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    expect(records[0]?.message).toContain('Reporting boot KPI');
    expect(records.at(-1)?.message).toBe('handing over: reboot');
    expect(keycloak.logs[0]?.headers).toMatchObject({ 'x-scope-orgid': 'project-1', hostguid: UUID });
    expect(keycloak.logs[0]?.headers.authorization).toMatch(/^Bearer ey/);
    expect(records[0]?.attributes).toMatchObject({
      source: 'edgenode_provisioning',
      FileType: 'uOS_bootkitLogs',
    });
  });

  it('reach a syslog server as RFC 5424', async () => {
    const messages: string[] = [];
    const socket = createSocket('udp4', (message) => messages.push(message.toString()));
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.bind(0, '127.0.0.1', resolve);
    await promise;
    const { ended } = start({ kernel: `syslog_host=127.0.0.1 syslog_port=${socket.address().port}` });
    await ended;
    await until(() => messages.some((message) => message.includes('handing over')), 'the last message');
    socket.close();
    expect(messages[0]).toMatch(
      /^<14>1 \d{4}-\d\d-\d\dT[\d:.]+Z \S+ kindling-agent \d+ - \[meta sequenceId="1"\] Reporting boot KPI/,
    );
  });

  it('and the discovery report reach a Kindling server from before onboarding on', async () => {
    const discoveries: unknown[] = [];
    const records: OtlpRecord[] = [];
    const tokens: (string | undefined)[] = [];
    let failures = 2;
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      if (failures > 0) {
        failures -= 1;
        response.writeHead(503).end();
      } else if (request.url === '/api/v1/discovery') {
        discoveries.push(body);
        response.end('{"nodeId":"host-7"}');
      } else if (request.url === '/v1/logs') {
        tokens.push(request.headers.authorization);
        records.push(...readOtlpJson(body));
        response.end('{}');
      } else response.writeHead(404).end();
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    manager.rows = [rows.notFound];
    const running = start({
      flags: { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    });
    await until(
      () => records.some(({ attributes }) => attributes['code'] === 'KND_ONBOARD_NOT_FOUND'),
      'the onboarding trouble in the log',
    );
    expect(discoveries).toHaveLength(1);
    expect(discoveries[0]).toMatchObject({ identity: { uuid: UUID } });
    manager.rows = [rows.onboarded];
    await running.ended;
    server.closeAllConnections();
    server.close();
    const sequences = records.map(({ attributes }) => attributes['kindling.sequence']);
    expect(sequences).toEqual(records.map((_, index) => index + 1));
    expect(records.every(({ attributes }) => attributes['kindling.node'] === 'host-7')).toBe(true);
    expect(tokens[0]).toBeUndefined();
    expect(tokens.at(-1)).toMatch(/^Bearer ey/);
  });
});
