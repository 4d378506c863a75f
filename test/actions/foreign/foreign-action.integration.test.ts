import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { actionForImage } from '../../../actions/catalog.ts';
import { type StartChildOptions, startChild } from '../../../actions/process/start-child.ts';
import type { ActionEvent } from '../../../protocol/action-events.ts';
import { startConnectProxy } from '../../wire/reference/connect-proxy.ts';
import { removeFolder, startTestAgent } from '../../wire/reference/test-agent.ts';
import { makeCertificate } from '../registry/test-certificate.ts';
import { type TestLayer, testRegistry } from '../registry/test-registry.ts';
import { busyboxLayer } from './busybox-layer.ts';

let stateDirectory: string;
/** Where images are unpacked: a folder of our own, as other test files run at the same time. */
let unpacked: string;
beforeAll(async () => {
  stateDirectory = await mkdtemp(path.join(tmpdir(), 'kindling-state-'));
  unpacked = await mkdtemp(path.join(tmpdir(), 'kindling-unpacked-'));
  vi.stubEnv('TMPDIR', unpacked);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  for (const folder of [stateDirectory, unpacked]) await rm(folder, { recursive: true });
});

const base: TestLayer = { 'removed-later': 'x', 'opaque/old': 'x' };

async function runImage(image: string, variables: Record<string, string>, context: StartChildOptions = {}) {
  const lines: string[] = [];
  const outcome = await startChild(image, variables, {
    stateDirectory,
    ...context,
    onEvent: (event: ActionEvent) => {
      if (event.type === 'log') lines.push(event.message);
      context.onEvent?.(event);
    },
  });
  return { outcome, lines };
}

/** What unpacked images lie around, also those of runs that were killed. */
async function bundles(): Promise<string[]> {
  return (await readdir(unpacked)).filter((name) => name.startsWith('kindling-container-'));
}

describe('an image that is no action of ours', () => {
  it('is pulled, unpacked layer by layer, and run with its variables and command', async () => {
    using registry = await testRegistry({
      layers: [
        busyboxLayer(),
        base,
        { '.wh.removed-later': '', 'opaque/.wh..wh..opq': '', 'opaque/new': 'y' },
      ],
      config: { Entrypoint: ['/bin/sh', '-c'], Cmd: ['exit 9'], Env: ['A=image', 'B=image'] },
    });
    const { outcome, lines } = await runImage(
      registry.image,
      { A: 'mine' },
      { args: ['echo "A=$A B=$B"; ls /; ls /opaque; [ -e /dev/null ] && echo devices'] },
    );
    expect({ outcome, lines }).toMatchObject({ outcome: { status: 'success' } });
    expect(lines).toEqual(expect.arrayContaining(['A=mine B=image', 'new', 'devices']));
    expect(lines).not.toContain('removed-later');
    expect(lines).not.toContain('old');
    expect(await bundles()).toEqual([]);
  });

  it('is run by crun on a machine where another runtime comes first in the path', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Entrypoint: ['/bin/echo', 'by crun'] },
    });
    const docker = path.join(stateDirectory, 'docker');
    await mkdir(docker);
    await writeFile(path.join(docker, 'runc'), '#!/bin/sh\nexit 99\n', { mode: 0o755 });
    const { outcome, lines } = await runImage(
      registry.image,
      {},
      { processEnvironment: { PATH: `${docker}:${process.env['PATH']}` } },
    );
    expect(outcome).toMatchObject({ status: 'success' });
    expect(lines).toContain('by crun');
  });

  it('that fails, fails with its exit code', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Entrypoint: ['/bin/sh', '-c'], Cmd: ['exit 7'] },
    });
    const { outcome } = await runImage(registry.image, {});
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'KND_CONTAINER_FAILED', evidence: { exitCode: 7 } },
    });
  });

  it('that runs too long is killed and removed', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Entrypoint: ['/bin/sleep', '4646'] },
    });
    const { outcome } = await runImage(registry.image, {}, { timeoutMs: 3000 });
    expect(outcome).toMatchObject({ status: 'timeout' });
    expect(execFileSync('sh', ['-c', 'pgrep -f "^/bin/sleep 4646" || true']).toString()).toBe('');
    expect(execFileSync('crun', ['list', '-q']).toString()).not.toContain('kindling-');
    expect(await bundles()).toEqual([]);
  });

  it('that is running is ended and removed by a cancel, without having to be killed', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Entrypoint: ['/bin/sh', '-c', 'echo started; exec /bin/sleep 4747'] },
    });
    const cancel = new AbortController();
    const begun = Promise.withResolvers<void>();
    const running = runImage(
      registry.image,
      {},
      {
        onEvent: (event) => event.type === 'log' && event.message === 'started' && begun.resolve(),
        signal: cancel.signal,
        graceMs: 100_000,
      },
    );
    await begun.promise;
    const containers = () => execFileSync('crun', ['list', '-q']).toString();
    expect(containers()).toContain('kindling-');
    cancel.abort();
    expect((await running).outcome).toMatchObject({ status: 'cancelled' });
    expect(execFileSync('sh', ['-c', 'pgrep -f "^/bin/sleep 4747" || true']).toString()).toBe('');
    expect(containers()).not.toContain('kindling-');
    expect(await bundles()).toEqual([]);
  });

  it('that a killed agent left running is ended and removed when the next agent starts, without waiting for work', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Entrypoint: ['/bin/sleep', '4848'] },
    });
    const folder = await mkdtemp(path.join(tmpdir(), 'kindling-killed-agent-'));
    const actions = path.join(folder, 'state/actions');
    const killed = execa(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startChild } from ${JSON.stringify(path.resolve('actions/process/start-child.ts'))};
         await startChild(${JSON.stringify(registry.image)}, {}, { stateDirectory: ${JSON.stringify(actions)} });`,
      ],
      { reject: false, env: { TMPDIR: unpacked } },
    );
    const containers = () => execFileSync('crun', ['list', '-q']).toString();
    const sleepers = () => execFileSync('sh', ['-c', 'pgrep -f "^/bin/sleep 4848" || true']).toString();
    await expect.poll(sleepers, { timeout: 30_000 }).not.toBe('');
    killed.kill('SIGKILL');
    await killed;
    expect(sleepers()).not.toBe('');

    // Its server does not answer: there is no next action.
    const agent = startTestAgent({ folder, kernel: 'grpc_authority=127.0.0.1:1 tinkerbell_tls=false' });
    try {
      await expect.poll(sleepers, { timeout: 30_000 }).toBe('');
      await expect.poll(() => readdir(actions), { timeout: 30_000 }).toEqual([]);
      expect(containers()).not.toContain('kindling-');
      expect(await bundles()).toEqual([]);
      expect(agent.executed).toEqual([]);
    } finally {
      await agent.stop();
      removeFolder(agent);
    }
  });

  it('that asks for a reboot by /worker/reboot gets one, after the report', async () => {
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Cmd: ['/bin/touch', '/worker/reboot'] },
    });
    const { outcome } = await runImage(registry.image, {});
    expect(outcome).toMatchObject({ status: 'success', handOver: { kind: 'reboot' } });
  });

  it('whose layer is not what its digest says is not run', async () => {
    using registry = await testRegistry({ layers: [{ a: 'b' }], spoilBlobs: true });
    const { outcome } = await runImage(registry.image, {});
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'KND_REGISTRY_DIGEST' } });
  });

  it('whose download is cut off is not run, and says that it broke off', async () => {
    using registry = await testRegistry({ layers: [busyboxLayer()], cutsBlobs: true });
    const { outcome } = await runImage(registry.image, {});
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'KND_REGISTRY', message: expect.stringContaining('broke off'), retryable: true },
    });
    expect(await bundles()).toEqual([]);
  });

  it('that does not exist says what the registry said', async () => {
    using registry = await testRegistry({ layers: [] });
    const { outcome } = await runImage(`${registry.host}/tools/other:1`, {});
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'KND_REGISTRY', message: expect.stringContaining('404') },
    });
  });

  it('comes from the first mirror that has it, over TLS by the site’s CA', async () => {
    const { key, cert } = await makeCertificate('127.0.0.1');
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Cmd: ['/bin/echo', 'from the mirror'] },
      tls: { key, cert, address: '127.0.0.1' },
    });
    const caFile = path.join(stateDirectory, 'site-ca.pem');
    await writeFile(caFile, cert);
    const mirrors = `other.test=http://127.0.0.1:2,http://127.0.0.1:1,https://${registry.host}`;
    const pulled = (processEnvironment: Record<string, string>) =>
      runImage('registry.invalid/tools/x:latest', {}, { processEnvironment });
    const trusted = await pulled({ KINDLING_REGISTRY_MIRRORS: mirrors, KINDLING_CA_FILE: caFile });
    expect(trusted.outcome).toEqual(expect.objectContaining({ status: 'success' }));
    expect(trusted.lines).toContain('from the mirror');
    const untrusted = await pulled({ KINDLING_REGISTRY_MIRRORS: mirrors });
    expect(untrusted.outcome).toMatchObject({ status: 'failed', error: { code: 'KND_REGISTRY' } });
  });

  it('comes through the proxy of the agent’s settings, or without it where no_proxy says so', async () => {
    const { key, cert } = await makeCertificate('registry.test');
    using registry = await testRegistry({
      layers: [busyboxLayer()],
      config: { Cmd: ['/bin/echo', 'from behind the proxy'] },
      tls: { key, cert, address: 'registry.test' },
    });
    const caFile = path.join(stateDirectory, 'proxied-ca.pem');
    await writeFile(caFile, cert);
    const proxy = await startConnectProxy();
    const pulled = (processEnvironment: Record<string, string>) =>
      runImage(
        registry.image,
        {},
        { processEnvironment: { KINDLING_CA_FILE: caFile, ...processEnvironment } },
      );
    const { outcome, lines } = await pulled({ https_proxy: proxy.url });
    expect(outcome).toEqual(expect.objectContaining({ status: 'success' }));
    expect(lines).toContain('from behind the proxy');
    expect(new Set(proxy.tunnels.map(({ target }) => target))).toEqual(new Set([registry.host]));
    const before = proxy.tunnels.length;
    const direct = await pulled({ https_proxy: proxy.url, no_proxy: '.test' });
    expect(direct.outcome).toMatchObject({ status: 'failed', error: { code: 'KND_REGISTRY' } });
    expect(proxy.tunnels).toHaveLength(before);
    await proxy.close();
  });

  it('of another registry than the site’s is not given the site’s password', async () => {
    using registry = await testRegistry({ layers: [{ a: 'b' }], password: 'p' });
    const login = { REGISTRY_USERNAME: 'user', REGISTRY_PASSWORD: 'p' };
    const pulled = (processEnvironment: Record<string, string>) =>
      runImage(registry.image, {}, { processEnvironment: { ...login, ...processEnvironment } });
    expect((await pulled({ DOCKER_REGISTRY: 'registry.site.test' })).outcome).toMatchObject({
      status: 'failed',
      error: { code: 'KND_REGISTRY' },
    });
    expect(registry.authorizations).toEqual([]);
    await pulled({ DOCKER_REGISTRY: registry.host });
    expect(registry.authorizations).toContain(`Basic ${Buffer.from('user:p').toString('base64')}`);
  });

  it('is not fetched from a registry over TLS that wants the password in the clear', async () => {
    const { key, cert } = await makeCertificate('127.0.0.1');
    using tokens = await testRegistry({ layers: [], password: 'p' });
    const tls = { key, cert, address: '127.0.0.1' };
    using registry = await testRegistry({ layers: [{ a: 'b' }], tls, realm: `http://${tokens.host}/token` });
    const caFile = path.join(stateDirectory, 'clear-ca.pem');
    await writeFile(caFile, cert);
    const { outcome } = await runImage(
      'registry.invalid/tools/x:latest',
      {},
      {
        processEnvironment: {
          REGISTRY_USERNAME: 'user',
          REGISTRY_PASSWORD: 'p',
          KINDLING_REGISTRY_MIRRORS: `https://${registry.host}`,
          KINDLING_CA_FILE: caFile,
        },
      },
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'KND_REGISTRY' } });
    expect(tokens.authorizations).toEqual([]);
  });

  it('without a container runtime fails with a code that says so', async () => {
    using registry = await testRegistry({ layers: [] });
    const { PATH } = process.env;
    process.env['PATH'] = '/nowhere';
    const { outcome } = await runImage(registry.image, {});
    process.env['PATH'] = PATH;
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'KND_ACTION_UNKNOWN', message: expect.stringContaining('no container runtime') },
    });
  });

  it.each([
    ['disk-partition:v3', 'rootio'],
    ['192.168.1.1/install-root-fs:v3', 'archive2disk'],
    ['install-grub', 'grub2disk'],
  ])(
    'of Tinkerbell’s first examples (%s) is the site’s own; without a runtime it says that %s does the same',
    async (image, instead) => {
      expect(actionForImage(image)).toBeUndefined();
      const { PATH } = process.env;
      process.env['PATH'] = '/nowhere';
      const { outcome } = await runImage(image, { MIRROR_HOST: '192.168.1.2' });
      process.env['PATH'] = PATH;
      expect(outcome).toMatchObject({
        status: 'failed',
        error: { code: 'KND_ACTION_UNKNOWN', hint: expect.stringContaining(`Use ${instead}`) },
      });
    },
  );
});
