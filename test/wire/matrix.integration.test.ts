import { describe, expect, it } from 'vitest';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import { waitFor } from '../../system/wait.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';
import {
  removeFolder,
  startTestAgent,
  type TestAgent,
  type TestAgentOptions,
  UUID,
} from './reference/test-agent.ts';
import { signIn, TestConsole } from './reference/test-console.ts';

const DIALECTS: TinkDialect[] = ['tink-legacy', 'tink-current'];
const TRANSPORTS = ['TLS + JWT', 'h2c'] as const;
const MODES = ['zero-touch', 'manual', 'interactive'] as const;

const UBUNTU = [
  'secure-boot-status-flag-read',
  'erase-non-removable-disk',
  'stream-os-image',
  'add-apt-proxy',
  'install-cloud-init',
  'cloud-init-ds-identity',
  'profile-pkg-and-node-agents-install-script-download',
  'service-script-for-profile-pkg-and-node-agents-install',
  'system-configuration',
  'kernel-upgrade',
  'efibootset-for-diskboot',
  'reboot',
];

const REBOOT = { handOver: { kind: 'reboot' } } as const;

async function startSite(dialect: TinkDialect, transport: (typeof TRANSPORTS)[number]): Promise<RunningStub> {
  const site = await RunningStub.start({
    dialects: [dialect],
    holdMs: 200,
    user: { name: 'operator', password: 'correct-horse' },
    ...(transport === 'h2c' ? {} : { port: 0, plainPort: false as const }),
  });
  await site.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://images.test/ubuntu.raw.gz', osType: 'MUTABLE' },
  });
  return site;
}

/** With nothing but the server's address and its CA, as on a kernel command line. */
function startAgent(site: RunningStub, setup: TestAgentOptions = {}): TestAgent {
  return startTestAgent({
    ca: site.stub.ca,
    kernel: `kindling.server=${site.stub.urls.http}`,
    ...setup,
  });
}

const node = async (site: RunningStub) => (await site.api('GET', `/api/v1/nodes/${UUID}`)).body;

const until = <T>(probe: () => Promise<T | undefined | false>, name: string) =>
  waitFor(async () => (await probe()) || undefined, { name, timeoutMs: 60_000, intervalMs: 50 });

describe.each(DIALECTS)('agent and stub, %s', (dialect) => {
  describe.each(TRANSPORTS)('over %s', (transport) => {
    it.each(MODES)('%s: from the first knock to the hand-over', async (mode) => {
      await using site = await startSite(dialect, transport);
      await site.api('PATCH', '/api/v1/site', {
        json: mode === 'manual' ? { autoProvision: false } : { defaultProfile: 'edge' },
      });
      if (mode !== 'interactive') {
        await site.api('POST', '/api/v1/nodes', {
          json: { uuid: UUID, serial: '5VJ0X13', autoOnboard: mode === 'zero-touch' },
        });
      }
      const screen = new TestConsole('tty0');
      const agent = startAgent(site, { options: { openConsoles: () => [screen] } });
      if (mode === 'interactive') await signIn(screen, 'operator', 'correct-horse');
      if (mode === 'manual') {
        await until(async () => (await node(site)).currentState === 'REGISTERED', 'REGISTERED');
        await site.api('POST', `/api/v1/nodes/${UUID}/onboard`);
        await until(async () => (await node(site)).currentState === 'ONBOARDED', 'ONBOARDED');
        await site.api('POST', `/api/v1/nodes/${UUID}/provision`, { json: { profile: 'edge' } });
      }
      await agent.ended;
      expect(agent.executed).toEqual(UBUNTU);
      expect(agent.handedOver).toEqual([{ kind: 'reboot' }]);
      const { workflow, provisionedGeneration } = await node(site);
      expect(workflow).toMatchObject({ state: 'SUCCESS' });
      expect(provisionedGeneration).toBe(1);
      expect(agent.lines.join('\n')).toContain(`speaks ${dialect}`);
      removeFolder(agent);
    });
  });

  it('a failed action reaches the operator with its real reason', async () => {
    await using site = await startSite(dialect, 'TLS + JWT');
    await site.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
    await site.api('POST', '/api/v1/nodes', { json: { uuid: UUID, autoOnboard: true } });
    const agent = startAgent(site, {
      script: (work) =>
        work.name === 'stream-os-image'
          ? { state: 'failed', message: 'KND_IMAGE_HASH: the image is not the one that was asked for' }
          : { state: 'success', message: 'ok' },
    });
    await agent.ended;
    const { status, workflow } = await node(site);
    expect(workflow.message).toContain('KND_IMAGE_HASH');
    expect(status).toContain('Streaming OS image failed');
    removeFolder(agent);
  });

  it('progress of a running action reaches the operator', async () => {
    await using site = await startSite(dialect, 'TLS + JWT');
    await site.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
    await site.api('POST', '/api/v1/nodes', { json: { uuid: UUID, autoOnboard: true } });
    const agent = startAgent(site, {
      script: async (work, _run, onProgress) => {
        if (work.name === 'stream-os-image') {
          onProgress({ type: 'progress', stage: 'writing', percent: 42 });
          await until(async () => (await node(site)).workflow.message.includes('writing 42 %'), 'progress');
        }
        return { state: 'success', message: 'ok', ...(work.name === 'reboot' ? REBOOT : {}) };
      },
    });
    await agent.ended;
    expect((await node(site)).workflow.state).toBe('SUCCESS');
    removeFolder(agent);
  });

  it('the stub restarted in the middle of an action: nothing runs twice, the workflow completes', async () => {
    await using site = await startSite(dialect, 'TLS + JWT');
    await site.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
    await site.api('POST', '/api/v1/nodes', { json: { uuid: UUID, autoOnboard: true } });
    const agent = startAgent(site, {
      script: async (work) => {
        if (work.name === 'stream-os-image') await site.restart();
        return {
          state: 'success',
          message: 'ok',
          ...(work.name === 'reboot' ? REBOOT : {}),
        };
      },
    });
    await agent.ended;
    expect(agent.executed).toEqual(UBUNTU);
    expect((await node(site)).workflow.state).toBe('SUCCESS');
    removeFolder(agent);
  });

  it('the node’s log is on the server, from before onboarding on, each line once and in order', async () => {
    await using site = await startSite(dialect, 'TLS + JWT');
    await site.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
    const agent = startAgent(site, { flags: { interactive: 'false' } });
    await until(async () => {
      const { status, body } = await site.api('GET', `/api/v1/nodes/${UUID}/logs?limit=1000`);
      return (
        status === 200 &&
        body.lines.some(({ message }: { message: string }) => message.includes('does not know'))
      );
    }, 'the onboarding trouble in the server’s log');
    await site.api('POST', '/api/v1/nodes', { json: { uuid: UUID, autoOnboard: true } });
    await agent.ended;
    const { lines } = (await site.api('GET', `/api/v1/nodes/${UUID}/logs?limit=1000`)).body;
    const numbers = lines
      .map(({ sequence }: { sequence: number }) => sequence)
      .toSorted((a: number, b: number) => a - b);
    expect(numbers).toEqual(numbers.map((_: number, index: number) => index + 1));
    expect(lines.some(({ message }: { message: string }) => message === 'handing over: reboot')).toBe(true);
    removeFolder(agent);
  });
});
