import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Executed } from '../../agent/workflow/executor.ts';
import { State } from '../../protocol/generated/tink-legacy_pb.js';
import { Agents, until } from './reference/agents.ts';
import { type GrpcHost, startGrpcHost } from './reference/grpc-host.ts';
import { MAC, shownCodes, type TestAgent, type TestAgentOptions } from './reference/test-agent.ts';
import { invalid, TinkLegacyServer } from './reference/tink-legacy-server.ts';

let tink: TinkLegacyServer;
let host: GrpcHost;
const agents = new Agents();

beforeEach(async () => {
  tink = new TinkLegacyServer(MAC, [
    { taskName: 'os', name: 'first', image: 'a/first:1', timeout: 60n },
    { taskName: 'os', name: 'second', image: 'a/second:1', timeout: 60n },
    {
      taskName: 'last',
      name: 'reboot',
      image: 'public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action:latest',
    },
  ]);
  host = await startGrpcHost(tink.addTo);
});

afterEach(async () => {
  await agents.end();
  host.kill();
});

function start(setup: TestAgentOptions = {}): TestAgent {
  return agents.start({ kernel: `grpc_authority=${host.authority} tinkerbell_tls=false`, ...setup });
}

const EVERYTHING = [
  'first RUNNING',
  'first SUCCESS',
  'second RUNNING',
  'second SUCCESS',
  'reboot RUNNING',
  'reboot SUCCESS',
];

describe('a legacy workflow server', () => {
  it('row: GetWorkflowContexts → OK: is recognized, gets RUNNING and SUCCESS for each action in order; the node hands over after the last is accepted', async () => {
    const { ended, executed, handedOver } = start();
    await ended;
    expect(tink.accepted).toEqual(EVERYTHING);
    expect(executed).toEqual(['first', 'second', 'reboot']);
    expect(handedOver).toEqual([{ kind: 'reboot' }]);
    expect(tink.reports[0]).toMatchObject({ seconds: 0n, message: 'Started execution', workerId: MAC });
  });

  it('trap 7: that has no workflow ends the stream at once, and the agent keeps asking', async () => {
    tink.isWorkflowThere = false;
    const running = start();
    await until(() => tink.polls > 5, 'polls');
    expect(shownCodes(running)).toEqual([]);
    tink.isWorkflowThere = true;
    await running.ended;
    expect(tink.isDone).toBe(true);
  });

  it('trap 16: hears TIMEOUT, not FAILED, for an action that timed out, with the real error text', async () => {
    const { ended } = start({
      script: () => ({ state: 'timeout', message: 'KND_ACTION_TIMEOUT: first did not end within 60 s' }),
    });
    await ended;
    expect(tink.reports.at(-1)).toMatchObject({
      actionStatus: State.TIMEOUT,
      message: 'KND_ACTION_TIMEOUT: first did not end within 60 s',
    });
  });

  it('hears FAILED with the real error text, and no further action is run', async () => {
    const { ended, executed } = start({
      script: () => ({ state: 'failed', message: 'KND_DISK_NONE: no disk can be the target' }),
    });
    await ended;
    expect(tink.accepted).toEqual(['first RUNNING', 'first FAILED']);
    expect(tink.reports.at(-1)?.message).toContain('no disk can be the target');
    expect(executed).toEqual(['first']);
  });

  it('gives an action without a timeout one hour', async () => {
    const seen: number[] = [];
    const { ended } = start({
      script: (work) => {
        seen.push(work.timeoutMs);
        return { state: 'success', message: 'ok' };
      },
    });
    await ended;
    expect(seen).toEqual([60_000, 60_000, 3_600_000]);
  });

  it('trap 9: passes tens of kB with line ends, empty values and = signs in the environment unharmed', async () => {
    const contents = `#cloud-config\n${'x=y\n'.repeat(20_000)}`;
    tink.actions = [
      {
        taskName: 'os',
        name: 'write',
        image: 'writefile',
        environment: [`CONTENTS=${contents}`, 'HTTP_PROXY=', 'NAME=a=b'],
        command: ['one', 'two'],
        pid: 'host',
      },
    ];
    tink.states = [State.PENDING];
    let seen: unknown;
    const { ended } = start({
      script: (work) => {
        seen = work;
        return { state: 'success', message: 'ok' };
      },
    });
    await ended;
    expect(seen).toMatchObject({
      environment: { CONTENTS: contents, HTTP_PROXY: '', NAME: 'a=b' },
      command: ['one', 'two'],
      pidNamespace: 'host',
    });
  });

  it('leaves actions of another worker alone', async () => {
    tink.actions = [{ taskName: 'os', name: 'theirs', image: 'x', workerId: 'somebody-else' }];
    tink.states = [State.PENDING];
    const { executed } = start();
    await until(() => tink.polls > 5, 'polls');
    expect(executed).toEqual([]);
  });

  it('is asked again when it fails to update (conflict: InvalidArgument while still at this action)', async () => {
    let conflicts = 0;
    tink.onReport = (report) => {
      if (report.actionStatus !== State.SUCCESS || conflicts >= 2) return;
      conflicts += 1;
      throw invalid('invalid workflow id');
    };
    const { ended, executed } = start();
    await ended;
    expect(executed).toEqual(['first', 'second', 'reboot']);
    expect(tink.accepted).toEqual(EVERYTHING);
  });

  it('trap 8: that is already past an action counts as having accepted it, the reply was lost', async () => {
    let isLost = false;
    tink.afterReport = (report) => {
      if (isLost || report.actionStatus !== State.SUCCESS) return;
      isLost = true;
      host.kill();
      setTimeout(() => void host.start(), 50);
    };
    const { ended, executed, lines } = start();
    await ended;
    expect(executed).toEqual(['first', 'second', 'reboot']);
    expect(tink.accepted).toEqual(EVERYTHING);
    expect(lines.join('\n')).toContain('already past this action');
  });

  it('that deletes the workflow while an action runs does not stop the agent', async () => {
    const { ended } = start({
      script: (work) => {
        if (work.name === 'first' && tink.workflowId !== 'workflow-new') {
          tink.workflowId = 'workflow-new';
          tink.states = tink.states.map(() => State.PENDING);
        }
        return {
          state: 'success',
          message: 'ok',
          ...(work.name === 'reboot' ? { handOver: { kind: 'reboot' } } : {}),
        };
      },
    });
    await ended;
    expect(tink.isDone).toBe(true);
  });

  it('killed at every single report, before or after it is applied: the workflow completes, nothing runs twice', async () => {
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
    expect(tink.isDone).toBe(true);
    expect(killedAt.size).toBeGreaterThanOrEqual(12);
  });
});

describe('an agent that was killed', () => {
  it('reports what had ended, without running it again', async () => {
    tink.onReport = (report) => {
      if (report.actionStatus === State.SUCCESS && report.actionName === 'first') {
        throw Object.assign(new Error('down'), { code: status.UNAVAILABLE, details: 'down' });
      }
    };
    const first = start();
    await until(
      () => tink.reports.some(({ actionStatus }) => actionStatus === State.SUCCESS),
      'the first result',
    );
    await first.stop();
    tink.onReport = () => {};
    const second = start({ folder: first.folder });
    await second.ended;
    expect(second.executed).toEqual(['second', 'reboot']);
    expect(tink.isDone).toBe(true);
  });

  it('between the last acknowledgment and the hand-over still hands over when it is back', async () => {
    const first = start({
      options: {
        handOver: async () => {
          throw new Error('killed');
        },
      },
    });
    await expect(first.ended).rejects.toThrow('killed');
    const second = start({ folder: first.folder });
    await second.ended;
    expect(second.handedOver).toEqual([{ kind: 'reboot' }]);
    expect(second.executed).toEqual([]);
  });

  it('runs an interrupted action again if it may be, and fails it with a code if not', async () => {
    const interrupted = async (mayRunAgain: boolean) => {
      tink.states = tink.states.map(() => State.PENDING);
      const { promise: hangs, resolve: letGo } = Promise.withResolvers<Executed>();
      const first = start({ script: () => hangs });
      await until(() => first.executed.length > 0, 'a start');
      const stopped = first.stop();
      const second = start({ folder: first.folder, mayRunAgain });
      await second.ended;
      letGo({ state: 'success', message: 'nobody listens any more' });
      await stopped;
      return second;
    };
    const again = await interrupted(true);
    expect(again.executed).toEqual(['first', 'second', 'reboot']);
    expect(again.lines.join('\n')).toContain('started first');
    const not = await interrupted(false);
    expect(not.executed).toEqual([]);
    expect(tink.reports.at(-1)).toMatchObject({ actionStatus: State.FAILED });
    expect(tink.reports.at(-1)?.message).toContain('KND_ACTION_INTERRUPTED');
  });
});
