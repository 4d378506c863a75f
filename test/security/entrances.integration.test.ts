import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { startKindling } from '../../lab/site/kindling.ts';
import {
  allMethods,
  entranceTable,
  OPEN_METHODS,
  openRoutes,
} from '../../orchestrator-stub/open-entrances.ts';
import { DATAGRAM_SERVERS } from '../../setup/what-we-believe.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';

let running: RunningStub;
beforeAll(async () => {
  running = await RunningStub.start({ port: 0, plainPort: false, holdMs: 100 });
});
afterAll(() => running[Symbol.asyncDispose]());

const page = readFileSync(join(import.meta.dirname, '../../docs/explanation/what-we-believe.md'), 'utf8');

/** Calls a method with an empty message and no token: what it is refused with, if it is. */
function callWithoutToken(method: string): Promise<number | 'answered'> {
  const client = new Client(
    running.stub.urls.grpc.replace('127.0.0.1', 'localhost'),
    credentials.createSsl(Buffer.from(running.stub.ca)),
  );
  const { promise, resolve } = Promise.withResolvers<number | 'answered'>();
  const asBytes = (bytes: Buffer) => bytes;
  // As a stream both ways, which fits every kind of method on the wire.
  const call = client.makeBidiStreamRequest(`/${method}`, asBytes, asBytes, new Metadata(), {
    deadline: Date.now() + 2000,
  });
  call.on('data', () => resolve('answered'));
  call.on('error', ({ code }: ServiceError) => resolve(code));
  call.on('end', () => resolve('answered'));
  call.write(Buffer.alloc(0));
  call.end();
  return promise.finally(() => {
    call.cancel();
    client.close();
  });
}

it.each(allMethods())('%s asks for a token, or is in the table of open entrances', async (method) => {
  const answer = await callWithoutToken(method);
  if (OPEN_METHODS.includes(method)) expect(answer).not.toBe(16);
  else expect(answer).toBe(16);
});

it('these are all the services there are', () => {
  const services = new Set(allMethods().map((method) => method.split('/')[0]));
  expect([...services].toSorted()).toEqual([
    'grpc.health.v1.Health',
    'grpc.reflection.v1.ServerReflection',
    'onboardingmgr.v1.InteractiveOnboardingService',
    'onboardingmgr.v1.NonInteractiveOnboardingService',
    'proto.WorkflowService',
  ]);
});

it('every HTTP address that asks for nothing is in the page, and nothing else answers without a token', async () => {
  for (const route of openRoutes()) expect(page).toContain(`\`${route}\``);
  expect(page).toContain(entranceTable(DATAGRAM_SERVERS));
  const { paths } = (await running.api('GET', '/api/v1/openapi.json', { token: null })).body as {
    paths: Record<string, Record<string, unknown>>;
  };
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of Object.keys(operations).map((each) => each.toUpperCase())) {
      if (openRoutes().includes(`${method} ${path}`)) continue;
      const answer = await running.api(method, path.replaceAll(/\{\w+\}/g, 'x'), { token: null, json: {} });
      expect(answer.status, `${method} ${path}`).toBe(401);
    }
  }
});

it('no other product code listens on a datagram socket', () => {
  const root = join(import.meta.dirname, '../..');
  const files = globSync('{agent,actions,orchestrator-stub,netboot,net,site,cli,standalone,system}/**/*.ts', {
    cwd: root,
  });
  const listening = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return text.includes("'node:dgram'") && /\.bind\(|\.on\('message'/.test(text);
  });
  expect(listening.toSorted()).toEqual([
    'agent/boot/clock/sntp.ts', // asks, and hears only the one it asked
    'netboot/dhcp/device-socket.ts',
    'netboot/dhcp/dhcp-server.ts',
    'netboot/tftp/tftp-server.ts',
    'orchestrator-stub/syslog/syslog-server.ts',
  ]);
});

it('the commands open the UDP ports that the table names, and no other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-entrances-'));
  try {
    await using network = await createTestNetwork();
    const { namespace } = network;
    const pxe = ['--interface', 'br0', '--tftp-root', folder, '--script', 'http://10.77.0.1/boot.ipxe'];
    await Promise.all([
      startKindling(namespace, ['pxe', ...pxe], 'serving'),
      startKindling(namespace, ['serve', '--state', folder, '--syslog', '514'], 'kindling serves'),
    ]);
    const { stdout } = await namespace.run('ss', ['--no-header', '--numeric', '--udp', '--listening']);
    const open = stdout.split('\n').flatMap((line) => /:(\d+)\s+\S+:\*/.exec(line)?.[1] ?? []);
    const named = DATAGRAM_SERVERS.flatMap(({ server }) => server.ports ?? [514]);
    expect(open.map(Number).toSorted()).toEqual(named.toSorted());
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('these commands network-boot machines, as the table says', () => {
  const root = join(import.meta.dirname, '../..');
  const callers = globSync('{cli,netboot,orchestrator-stub,standalone}/**/*.ts', { cwd: root }).filter(
    (file) => /await servePxe\(/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(callers.toSorted()).toEqual([
    'cli/pxe.ts',
    'cli/serve-netboot.ts',
    'netboot/mirror/serve-mirror.ts',
  ]);
});
