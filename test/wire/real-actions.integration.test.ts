import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createExecutor } from '../../agent/workflow/executor.ts';
import { decodeFailure } from '../../protocol/failure-text.ts';
import { State } from '../../protocol/generated/tink-legacy_pb.js';
import { busyboxLayer } from '../actions/foreign/busybox-layer.ts';
import { loopDisk } from '../actions/loop-disk.ts';
import { testRegistry } from '../actions/registry/test-registry.ts';
import { Agents } from './reference/agents.ts';
import { type GrpcHost, startGrpcHost } from './reference/grpc-host.ts';
import { MAC, type TestAgent, type TestAgentOptions } from './reference/test-agent.ts';
import { TinkLegacyServer } from './reference/tink-legacy-server.ts';

const agents = new Agents();
let agent: TestAgent;
let host: GrpcHost | undefined;

afterEach(async () => {
  await agents.end();
  host?.kill();
});

async function runWith(actions: TinkLegacyServer['actions']): Promise<TinkLegacyServer> {
  const tink = new TinkLegacyServer(MAC, actions);
  host = await startGrpcHost(tink.addTo);
  agent = agents.start({
    kernel: `grpc_authority=${host.authority} tinkerbell_tls=false`,
    options: { executor: createExecutor((environment) => environment) },
  });
  await agent.ended;
  return tink;
}

it('trap 13: the reboot action of EMF, from a public registry, is run natively, and hands over after the report', async () => {
  const image = 'public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action:latest';
  const tink = await runWith([{ taskName: 'os', name: 'reboot', image, timeout: 90n }]);
  expect(tink.accepted).toEqual(['reboot RUNNING', 'reboot SUCCESS']);
  expect(agent.handedOver).toEqual([{ kind: 'reboot' }]);
});

it.each([
  ['alpine', ['/sbin/reboot', '-f'], 'reboot'],
  ['quay.io/someone/reboot:v1', [], 'reboot'],
])(
  'a reboot behind waitdaemon (%s %j) that was interrupted is done again, not failed: a machine that came back up may restart once more',
  async (image, command, kind) => {
    const tink = new TinkLegacyServer(MAC, [
      {
        taskName: 'os',
        name: 'reboot',
        image: 'ghcr.io/jacobweinstock/waitdaemon:0.2.1',
        timeout: 90n,
        command,
        environment: [`IMAGE=${image}`, 'WAIT_SECONDS=10'],
      },
    ]);
    host = await startGrpcHost(tink.addTo);
    const setup: TestAgentOptions = {
      kernel: `grpc_authority=${host.authority} tinkerbell_tls=false`,
      options: { executor: createExecutor((environment) => environment) },
    };
    const first = agents.start(setup);
    let stopped: Promise<void> | undefined;
    tink.afterReport = () => {
      stopped ??= first.stop();
    };
    await expect(first.ended).rejects.toThrow('stopped by the test');
    await stopped;
    expect(first.handedOver).toEqual([]);

    const second = agents.start({ ...setup, folder: first.folder });
    await second.ended;
    expect(tink.accepted).toEqual(['reboot RUNNING', 'reboot RUNNING', 'reboot SUCCESS']);
    expect(second.handedOver).toEqual([{ kind }]);
  },
);

describe('an image of others behind waitdaemon', () => {
  it('runs once the server knows, is made up for by the next agent, and never runs twice', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Entrypoint: ['/bin/sh', '-c'] },
    });
    const out = await mkdtemp(path.join(tmpdir(), 'kindling-waitdaemon-'));
    const ran = () => readFile(path.join(out, 'ran'), 'utf8').catch(() => '');
    const tink = new TinkLegacyServer(MAC, [
      {
        taskName: 'os',
        name: 'own-reset',
        image: 'ghcr.io/jacobweinstock/waitdaemon:0.2.1',
        timeout: 90n,
        command: ['echo "$GREETING" >> /out/ran'],
        environment: [`IMAGE=${registry.image}`, 'WAIT_SECONDS=1', 'GREETING=hello'],
        volumes: [`${out}:/out`],
      },
    ]);
    host = await startGrpcHost(tink.addTo);
    const setup: TestAgentOptions = {
      kernel: `grpc_authority=${host.authority} tinkerbell_tls=false`,
      options: { executor: createExecutor((environment) => environment) },
    };
    // Killed when the server has the success and the image has not begun.
    const first = agents.start(setup);
    let stopped: Promise<void> | undefined;
    tink.afterReport = ({ actionStatus }) => {
      if (actionStatus === State.SUCCESS) stopped ??= first.stop();
    };
    await expect(first.ended).rejects.toThrow();
    await stopped;
    expect(tink.accepted).toEqual(['own-reset RUNNING', 'own-reset SUCCESS']);
    expect(await ran()).toBe('');

    const second = agents.start({ ...setup, folder: first.folder });
    await expect.poll(ran, { timeout: 30_000 }).toBe('hello\n');
    await expect.poll(() => second.lines.join('\n'), { timeout: 30_000 }).toContain('after the report:');
    await second.stop();

    const third = agents.start({ ...setup, folder: first.folder });
    await expect.poll(() => third.statuses.some(({ waitingFor }) => waitingFor === 'a workflow')).toBe(true);
    expect(await ran()).toBe('hello\n');
    await rm(out, { recursive: true });
  });

  it('that cannot be run at all, because there is no runtime, is no success', async () => {
    vi.stubEnv('PATH', '/nowhere');
    const tink = await runWith([
      {
        taskName: 'os',
        name: 'own-reset',
        image: 'waitdaemon',
        timeout: 90n,
        environment: ['IMAGE=localhost:1/x:1'],
      },
    ]);
    vi.unstubAllEnvs();
    expect(tink.accepted).toEqual(['own-reset RUNNING', 'own-reset FAILED']);
    expect(tink.reports.at(-1)?.message).toContain('KND_ACTION_UNKNOWN');
  });
});

it('an action with wrong variables fails with its own code, which the server hears', async () => {
  const tink = await runWith([
    {
      taskName: 'os',
      name: 'write',
      image: 'x/writefile:1',
      timeout: 90n,
      environment: ['DEST_DISK=/dev/nonexistent'],
    },
  ]);
  expect(tink.states).toEqual([State.FAILED]);
  expect(tink.reports.at(-1)?.message).toMatch(/^KND_ACTION_VARIABLES: /);
});

describe('an image, as EMF’s workflows name it', () => {
  const content = Buffer.alloc(2 * 2 ** 20, 'Kindling ');
  const compressed = zstdCompressSync(content);
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

  async function writeImage(environment: string[]) {
    await using disk = await loopDisk(8 * 2 ** 20);
    const server = createServer((_request, response) => response.end(compressed));
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/image.raw.zst`;
      const tink = await runWith([
        {
          taskName: 'os',
          name: 'stream-os-image',
          image: 'localhost:7443/edge-orch/infra/tinker-actions/image2disk:1.21.1',
          timeout: 90n,
          environment: [`DEST_DISK=${disk.device}`, `IMG_URL=${url}`, ...environment],
        },
      ]);
      const written = (await readFile(disk.file)).subarray(0, content.length);
      return { tink, isWritten: written.equals(content), message: tink.reports.at(-1)?.message ?? '' };
    } finally {
      server.close();
    }
  }

  it('trap 10: SHA256 is of the compressed file', async () => {
    const good = await writeImage([`SHA256=${sha256(compressed)}`, 'COMPRESSED=true']);
    expect(good.message, 'the sum of the compressed file').not.toContain('KND_');
    expect(good).toMatchObject({ tink: { states: [State.SUCCESS] }, isWritten: true });
    await agents.end();
    const bad = await writeImage([`SHA256=${sha256(content)}`, 'COMPRESSED=true']);
    expect(bad.tink.states, 'the sum of what is in it').toEqual([State.FAILED]);
  });

  it('trap 11 and 12: COMPRESSED is the text “true”, .zst is written too, and proxies may be empty', async () => {
    const written = await writeImage([
      'COMPRESSED=true',
      'HTTP_PROXY=',
      'HTTPS_PROXY=',
      'NO_PROXY=',
      'http_proxy=',
      `SHA256=${sha256(compressed)}`,
    ]);
    expect(written).toMatchObject({ tink: { states: [State.SUCCESS] }, isWritten: true });
    await agents.end();
    const refused = await writeImage(['COMPRESSED=false', `SHA256=${sha256(compressed)}`]);
    expect(refused.tink.states).toEqual([State.FAILED]);
    expect(refused.message).toMatch(/^KND_IMAGE_/);
  });

  it('that waits for consent reports the plan it announced, and nothing is written', async () => {
    const asked = await writeImage(['KINDLING_REQUIRE_CONSENT=always', `SHA256=${sha256(compressed)}`]);
    expect(asked).toMatchObject({ tink: { states: [State.FAILED] }, isWritten: false });
    const failure = decodeFailure(asked.message);
    expect(failure).toMatchObject({
      code: 'KND_CONSENT_REQUIRED',
      plan: expect.stringMatching(/^[0-9a-f]{64}$/),
      said: expect.stringContaining('destroys everything on /dev/loop'),
    });
    expect(failure?.said, 'the same plan as its hint names').toContain(`KINDLING_CONSENT=${failure?.plan}`);
  });
});
