import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActionStatusRequest_StateType as StateType } from '../../protocol/generated/tink-current_pb.js';
import { State } from '../../protocol/generated/tink-legacy_pb.js';
import { pause } from '../../system/wait.ts';
import { Agents, until } from './reference/agents.ts';
import { type GrpcHost, startGrpcHost } from './reference/grpc-host.ts';
import { MAC, shownCodes, type TestAgent, type TestAgentOptions } from './reference/test-agent.ts';
import { TinkCurrentServer } from './reference/tink-current-server.ts';
import { TinkLegacyServer } from './reference/tink-legacy-server.ts';

let tink: TinkCurrentServer;
let host: GrpcHost;
const agents = new Agents();

beforeEach(async () => {
  tink = new TinkCurrentServer(MAC, [
    { name: 'first', image: 'a/first:1' },
    { name: 'second', image: 'a/second:1' },
    { name: 'reboot', image: 'reboot' },
  ]);
  host = await startGrpcHost((server) => tink.addTo(server));
});

afterEach(async () => {
  await agents.end();
  host.kill();
});

function start(setup: TestAgentOptions = {}): TestAgent {
  return agents.start({ kernel: `grpc_authority=${host.authority} tinkerbell_tls=false`, ...setup });
}

const EVERYTHING = ['first', 'second', 'reboot'].flatMap((name) => [`${name} RUNNING`, `${name} SUCCESS`]);

describe('a current workflow server', () => {
  it('row: GetWorkflowContexts → UNIMPLEMENTED: is recognized, gets full attributes with every question, and sees every action through', async () => {
    const { ended, executed, handedOver } = start();
    await ended;
    expect(tink.accepted).toEqual(EVERYTHING);
    expect(executed).toEqual(['first', 'second', 'reboot']);
    expect(handedOver).toEqual([{ kind: 'reboot' }]);
    expect(tink.requests[0]).toMatchObject({
      agentId: MAC,
      agentAttributes: {
        cpu: { totalCores: 8, totalThreads: 16 },
        memory: { total: '16GB' },
        product: { name: 'PowerEdge R650', serialNumber: '5VJ0X13' },
      },
    });
  });

  it('gets start, stop, duration and the real text', async () => {
    const { ended } = start({
      script: async () => ({ state: 'failed', message: 'KND_DISK_NONE: no disk can be the target' }),
    });
    await ended;
    const [running, failed] = tink.reports;
    expect(running?.actionState).toBe(StateType.RUNNING);
    expect(running?.executionStart?.seconds).toBeGreaterThan(1_600_000_000n);
    expect(failed).toMatchObject({
      actionState: StateType.FAILED,
      message: { message: 'KND_DISK_NONE: no disk can be the target' },
    });
    expect(failed?.executionStart).toEqual(running?.executionStart);
    expect(failed?.executionDuration).toMatch(/^\d+m?s/);
  });

  it('that gives a timeout of 0 hears TIMEOUT at once, and nothing is run', async () => {
    tink.actions = tink.actions.map((action) => ({ ...action, timeout: 0n }));
    const { ended, executed } = start();
    await ended;
    expect(executed).toEqual([]);
    expect(tink.accepted).toEqual(['first RUNNING', 'first TIMEOUT']);
  });

  it('stores progress: RUNNING is repeated with a text and the same start', async () => {
    const agent = start({
      options: {
        executor: {
          mayRunAgain: () => true,
          async execute(_work, { onProgress }) {
            onProgress({ type: 'progress', stage: 'writing image', percent: 42.4, etaSeconds: 12 });
            return { state: 'success', message: 'ok' };
          },
        },
      },
    });
    await agent.ended;
    const [running, progress, success] = tink.reports;
    expect(progress).toMatchObject({
      actionState: StateType.RUNNING,
      message: { message: 'writing image 42 % · 12 s left' },
    });
    expect(progress?.executionStart).toEqual(running?.executionStart);
    expect(success?.actionState).toBe(StateType.SUCCESS);
  });

  it.each([
    [status.NOT_FOUND, 'no Workflows found'],
    [status.NOT_FOUND, 'no Workflow Rule Sets found or matched for Agent 52:54:00:12:34:56'],
    [status.NOT_FOUND, 'no Tasks found in Workflow'],
    [status.NOT_FOUND, 'no Tasks found'],
    [status.NOT_FOUND, 'no Actions found'],
    [status.NOT_FOUND, 'no Action found'],
    [status.NOT_FOUND, 'in-progress Action not found in task'],
    [status.NOT_FOUND, 'last Action in task'],
    [status.NOT_FOUND, 'Task not assigned to Agent'],
    [status.FAILED_PRECONDITION, 'Workflow is in preparing state'],
    [status.FAILED_PRECONDITION, 'Workflow not in pending or running state'],
    [status.FAILED_PRECONDITION, 'current Action not in success state'],
    [status.FAILED_PRECONDITION, 'no current state available'],
    [status.FAILED_PRECONDITION, 'existing workflow found'],
    [status.FAILED_PRECONDITION, 'auto enrollment is disabled for this hardware'],
  ])(
    'row: GetAction → %i “%s”: nothing to do, no error is shown, the agent asks again',
    async (code, details) => {
      const actions = tink.actions;
      tink.actions = [];
      tink.states = [];
      tink.idle = { code, details };
      const running = start();
      await until(() => tink.requests.length >= 3, 'three questions');
      expect(shownCodes(running)).toEqual([]);
      tink.actions = actions;
      tink.states = actions.map(() => StateType.PENDING);
      await running.ended;
      expect(tink.isDone).toBe(true);
    },
  );

  it.each([
    [status.INTERNAL, 'error getting workflows: etcd', 'KND_SERVER_GRPC_STATUS'],
    [status.INTERNAL, 'error writing current state: etcd', 'KND_SERVER_GRPC_STATUS'],
    [status.UNAVAILABLE, 'server shutting down', 'KND_SERVER_UNAVAILABLE'],
    [status.INVALID_ARGUMENT, 'invalid Agent ID', 'KND_SERVER_GRPC_STATUS'],
  ])('row: GetAction → %i “%s”: in trouble, named, and asked again', async (code, details, expected) => {
    const actions = tink.actions;
    tink.actions = [];
    tink.states = [];
    tink.idle = { code, details };
    const running = start();
    await until(() => tink.requests.length >= 3, 'three questions');
    expect(shownCodes(running)).toEqual([expected]);
    tink.actions = actions;
    tink.states = actions.map(() => StateType.PENDING);
    await running.ended;
  });

  it('row: report → NotFound, InvalidArgument, FailedPrecondition: it has forgotten the action, which does not stop the agent', async () => {
    const codes = [status.NOT_FOUND, status.INVALID_ARGUMENT, status.FAILED_PRECONDITION];
    tink.onReport = (report) => {
      if (report.actionState !== StateType.SUCCESS) return;
      const code = codes.shift();
      if (code !== undefined) throw Object.assign(new Error('gone'), { code, details: 'action not found' });
    };
    const { ended } = start();
    await ended;
    expect(tink.isDone).toBe(true);
  });

  it('that gives an action and then does not know it, over and over, is asked at the pace of the polls', async () => {
    tink.onReport = () => {
      throw Object.assign(new Error('gone'), { code: status.NOT_FOUND, details: 'action not found' });
    };
    const running = start({ flags: { 'poll-interval': '100ms' } });
    await until(() => tink.reports.length >= 1, 'a report');
    const asked = tink.requests.length;
    await pause(500);
    expect(tink.requests.length - asked).toBeLessThanOrEqual(8);
    tink.onReport = () => {};
    await running.ended;
    expect(tink.isDone).toBe(true);
  });

  it('killed at every single report: the workflow completes, nothing runs twice', async () => {
    const killedAt = new Set<string>();
    const kill = (when: string) => () => {
      const key = `${when} ${new Set(tink.accepted).size}`;
      if (killedAt.has(key)) return;
      killedAt.add(key);
      host.kill();
      setTimeout(() => void host.start(), 30);
      if (when === 'before')
        throw Object.assign(new Error('dead'), { code: status.UNAVAILABLE, details: 'dead' });
    };
    tink.onReport = kill('before');
    tink.afterReport = kill('after');
    const { ended, executed } = start();
    await ended;
    expect(executed).toEqual(['first', 'second', 'reboot']);
    expect(killedAt.size).toBeGreaterThanOrEqual(12);
  });
});

describe('the dialect', () => {
  it('is detected anew when the server is replaced by one of the other dialect, both ways', async () => {
    const legacy = new TinkLegacyServer(MAC, [{ taskName: 't', name: 'legacy-one', image: 'x' }]);
    tink.actions = [];
    tink.states = [];
    const running = start({ flags: { once: 'false' } });
    await until(() => tink.requests.length >= 1, 'a question in the current dialect');
    host.kill();
    const port = host.port;
    const other = await startGrpcHost(legacy.addTo, { port });
    await until(() => legacy.isDone, 'the legacy workflow');
    other.kill();
    const third = new TinkCurrentServer(MAC, [{ name: 'current-one', image: 'x' }]);
    const last = await startGrpcHost(third.addTo, { port });
    await until(() => third.isDone, 'the current workflow');
    expect(running.executed).toEqual(['legacy-one', 'current-one']);
    expect(legacy.states).toEqual([State.SUCCESS]);
    last.kill();
  });

  it('can be forced, then nothing is probed', async () => {
    const { ended } = start({ flags: { dialect: 'tink-current' } });
    await ended;
    expect(tink.isDone).toBe(true);
  });

  it('is none when the server has no workflow service at all', async () => {
    host.kill();
    host = await startGrpcHost(() => {});
    const running = start();
    // grpc-js answers without saying whether the service or the method is unknown; Go says which. Either way it is named.
    await until(() => shownCodes(running).includes('KND_SERVER_PROTOCOL'), 'the code');
  });
});
