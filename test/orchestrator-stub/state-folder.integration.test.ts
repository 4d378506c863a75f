import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Client, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Health,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../protocol/generated/grpc-health_pb.js';
import { WorkflowService as LegacyService, State } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { waitFor } from '../../system/wait.ts';
import { removeFolder, startTestAgent, type TestAgent, UUID } from '../wire/reference/test-agent.ts';
import { FailingDisk } from './failing-disk.ts';
import { failure, RunningStub } from './running-stub.ts';

const TEMPLATE = `version: "0.1"
name: three
global_timeout: 6000
tasks:
  - name: work
    worker: "{{ .DeviceInfoHwMacID }}"
    actions:
      - {name: first, image: example.org/a/first:1, timeout: 600}
      - {name: second, image: example.org/a/second:1, timeout: 600}
      - {name: reboot, image: example.org/a/reboot:1, timeout: 600}
`;

let disk: FailingDisk;
let running: RunningStub;
let cleanUp: AsyncDisposableStack;

beforeEach(async () => {
  cleanUp = new AsyncDisposableStack();
  disk = cleanUp.use(await FailingDisk.make());
  running = cleanUp.use(await RunningStub.start({ stateFolder: disk.folder }));
  await running.api('PUT', '/api/v1/templates/three', { json: { text: TEMPLATE } });
  await running.api('PUT', '/api/v1/profiles/p', {
    json: { imageUrl: 'http://example.org/image.raw', template: 'three' },
  });
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'p' } });
  await running.api('POST', '/api/v1/nodes', { json: { uuid: UUID, autoOnboard: true } });
});

afterEach(() => cleanUp.disposeAsync());

/** An agent whose second action breaks something and then succeeds: its report is the first that is refused. */
function startAgentThat(breaks: () => Promise<void> | void): TestAgent {
  const agent = startTestAgent({
    ca: running.stub.ca,
    kernel: `kindling.server=${running.stub.urls.http}`,
    script: async ({ name }) => {
      if (name === 'second') await breaks();
      return {
        state: 'success',
        message: `${name} done`,
        ...(name === 'reboot' ? { handOver: { kind: 'reboot' } } : {}),
      };
    },
  });
  cleanUp.defer(async () => {
    await agent.stop();
    removeFolder(agent);
  });
  return agent;
}

const health = () => running.api('GET', '/healthz', { token: null });
const change = () => running.api('PUT', '/api/v1/profiles/q', { json: { imageUrl: 'http://example.org/b' } });
const until = <T>(probe: () => Promise<T | undefined | false>, name: string) =>
  waitFor(async () => (await probe()) || undefined, { name, timeoutMs: 60_000, intervalMs: 50 });

/** The agent has been told to wait, and does. */
const untilAgentWaits = (waiting: TestAgent, code: string) =>
  until(async () => waiting.lines.some((line) => line.includes(code)), `the agent to hear of ${code}`);

async function expectRefusal(code: string): Promise<void> {
  const refused = await change();
  expect(refused).toMatchObject({ status: 503, body: { code, retryable: true } });
  expect(refused.headers['retry-after']).toBe('5');
  expect(refused.body.hint).not.toContain('report it');
  expect(await health()).toMatchObject({ status: 503, body: { code } });
  const { status: serving } = await callUnary(running.client(), Health.method.check, { service: '' });
  expect(serving).toBe(Serving.NOT_SERVING);
}

async function expectAllDone({ executed, ended, handedOver }: TestAgent): Promise<void> {
  await ended;
  expect(executed).toEqual(['first', 'second', 'reboot']);
  expect(handedOver).toEqual([{ kind: 'reboot' }]);
  const node = (await running.api('GET', `/api/v1/nodes/${UUID}`)).body;
  expect(node).toMatchObject({ status: 'Rebooting', workflow: { state: 'SUCCESS' } });
  await until(async () => (await health()).status === 200, 'the health check to say so');
  expect((await change()).status).toBe(200);
}

describe('a state folder', () => {
  test('that is full: changes are refused by name, agents wait, and with room again all goes on', async () => {
    const waiting = startAgentThat(() => disk.fill());
    await untilAgentWaits(waiting, 'KND_STATE_FULL');
    await expectRefusal('KND_STATE_FULL');
    const node = (await running.api('GET', `/api/v1/nodes/${UUID}`)).body;
    expect(node.workflow).toMatchObject({ state: 'RUNNING', action: 'second' });

    disk.makeRoom();
    await expectAllDone(waiting);
  });

  test('that the kernel made read-only: the same, and the agent goes on after a restart on the mended disk', async () => {
    const waiting = startAgentThat(() => disk.makeReadOnly());
    await untilAgentWaits(waiting, 'KND_STATE_READ_ONLY');
    await expectRefusal('KND_STATE_READ_ONLY');

    await running.restart({}, () => disk.mountAgain());
    await expectAllDone(waiting);
  });

  test('whose disk fails in the middle: the same, and what was acknowledged is there after a restart', async () => {
    const waiting = startAgentThat(() => disk.shutDown());
    await untilAgentWaits(waiting, 'KND_STATE_IO');
    await expectRefusal('KND_STATE_IO');

    await running.restart({}, () => disk.mountAgain());
    const node = (await running.api('GET', `/api/v1/nodes/${UUID}`)).body;
    expect(node).toMatchObject({ currentState: 'ONBOARDED', workflow: { index: expect.any(Number) } });
    expect(node.workflow.index).toBeGreaterThanOrEqual(1);
    await expectAllDone(waiting);
  });

  test('whose database another program locks: changes are refused, nobody else is kept waiting, and then all goes on', async () => {
    const locked = Promise.withResolvers<Disposable>();
    const waiting = startAgentThat(async () => locked.resolve(await lockDatabase()));
    {
      using _lock = await locked.promise;
      await untilAgentWaits(waiting, 'KND_STATE_LOCKED');
      await expectRefusal('KND_STATE_LOCKED');
      expect((await running.api('GET', '/api/v1/nodes')).status).toBe(200);
    }
    await expectAllDone(waiting);
  });

  test('that fails while a node is let in: the node gets its workflow when there is room again', async () => {
    disk.fill();
    const waiting = startAgentThat(() => {});
    await untilAgentWaits(waiting, 'KND_STATE_FULL');
    expect(waiting.executed).toEqual([]);
    disk.makeRoom();
    await expectAllDone(waiting);
  });

  test('that is full when a timeout falls due: the timeout is written down when there is room', async () => {
    await running.api('PUT', '/api/v1/templates/short', {
      json: {
        text: TEMPLATE.replaceAll('timeout: 600}', 'timeout: 1}').replace('{{ .DeviceInfoHwMacID }}', 'w'),
      },
    });
    await running.restart({ timeoutGraceMs: 0 });
    const { id } = (
      await running.api('POST', '/api/v1/workflows', { json: { node: UUID, template: 'short' } })
    ).body;
    const client: Client = running.client();
    const report = (actionStatus: State) =>
      callUnary(client, LegacyService.method.reportActionStatus, {
        workflowId: id,
        taskName: 'work',
        actionName: 'first',
        actionStatus,
      });
    await report(State.RUNNING);
    disk.fill();
    await until(async () => (await health()).status === 503, 'the timeout to be refused');
    expect((await running.api('GET', `/api/v1/workflows/${id}`)).body.state).toBe('RUNNING');
    expect(await failure(report(State.SUCCESS))).toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining('KND_STATE_FULL'),
    });
    disk.makeRoom();
    await until(
      async () => (await running.api('GET', `/api/v1/workflows/${id}`)).body.state === 'TIMEOUT',
      'the timeout to be written down',
    );
  });
});

/** Another process holds the lock until this is disposed of. */
async function lockDatabase(): Promise<Disposable> {
  const script = `const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(${JSON.stringify(join(disk.folder, 'kindling.sqlite'))}, { timeout: 10_000 });
    database.exec('BEGIN EXCLUSIVE');
    console.log('locked');
    process.stdin.resume().on('end', () => process.exit(0));`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  return { [Symbol.dispose]: () => child.stdin.end() };
}
