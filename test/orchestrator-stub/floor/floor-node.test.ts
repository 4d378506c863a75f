import { describe, expect, test } from 'vitest';
import { floorNode, type NodeFacts } from '../../../orchestrator-stub/floor/floor-node.ts';
import { type Host, status } from '../../../orchestrator-stub/nodes/host.ts';
import {
  type AgentsStatus,
  createInstance,
  type Instance,
  markAgents,
  markFallback,
  markFirstBoot,
  markFirstBootFailed,
  markProvisioned,
} from '../../../orchestrator-stub/nodes/instance.ts';
import {
  deauthorizeHost,
  newHost,
  registerHost,
  reopenOnboarding,
} from '../../../orchestrator-stub/nodes/registration.ts';
import { defineWorkflow } from '../../../orchestrator-stub/workflow/definition.ts';
import {
  type ActionReport,
  applyReport,
  cancel,
  newProgress,
  type StoredWorkflow,
} from '../../../orchestrator-stub/workflow/workflow.ts';
import type { NodeStatus } from '../../../protocol/floor.ts';
import { toHostId } from '../../../protocol/ids.ts';
import { TWO_ACTIONS } from '../workflow/two-actions.ts';

const START = new Date('2026-11-18T08:00:00.000Z');
const after = (seconds: number) => new Date(START.getTime() + seconds * 1000);
const MINUTES = 60;

const stranger = newHost(toHostId('host-1'), 'project', START);
const registered = registerHost(stranger, { serial: 'ABC12345', name: 'till-7', autoOnboard: true }, START);
const onboarded: Host = {
  ...registered,
  currentState: 'ONBOARDED',
  reportedMac: '52:54:00:12:34:56',
  onboardingStatus: status('Onboarded', 'IDLE', START),
  lastSeenAt: START.toISOString(),
};
const instance = createInstance({
  id: 'inst-1',
  host: onboarded,
  profile: 'edge',
  keys: { firstBootKey: 'a', escrowKey: 'b', neighborsKey: 'c' },
  now: START,
});
const definition = defineWorkflow({
  id: 'w',
  hostId: onboarded.id,
  generation: 1,
  template: TWO_ACTIONS,
  data: {},
  now: START,
});

/** The workflow after these reports, each at its second after the start. */
function workflow(...reports: (ActionReport & { at: number })[]): StoredWorkflow {
  return {
    definition,
    progress: reports.reduce(
      (progress, { at, ...report }) => applyReport(progress, report, after(at)),
      newProgress(definition),
    ),
  };
}

function rowOf(facts: Partial<NodeFacts>, seconds = 60) {
  const all = { host: onboarded, instance, workflow: undefined, macs: [], firstBootMinutes: 30, ...facts };
  return floorNode(all, after(seconds)).node;
}

const provisioned: Instance = markProvisioned(instance, 1, START);
const withAgents = (state: AgentsStatus['state']): Instance =>
  markAgents(markFirstBoot(provisioned, START), { state, reason: 'x.service does not start' }, START);
const failed = (message: string) => workflow({ at: 1, index: 0, state: 'FAILED', message });
const running = workflow({ at: 1, index: 0, state: 'RUNNING', message: '' });

describe('every node has one status', () => {
  test.each<[NodeStatus, Partial<NodeFacts>, seconds?: number]>([
    ['stranger', { host: stranger, instance: undefined }],
    ['registered', { host: registered, instance: undefined }],
    [
      'wants-onboard',
      {
        host: { ...registered, currentState: 'REGISTERED', desiredState: 'REGISTERED' },
        instance: undefined,
      },
    ],
    ['onboarding', { host: { ...registered, currentState: 'REGISTERED' }, instance: undefined }],
    ['silent', { host: { ...registered, currentState: 'REGISTERED' }, instance: undefined }, 5 * MINUTES],
    ['wants-boot', { host: reopenOnboarding(onboarded, START) }],
    ['deauthorized', { host: deauthorizeHost(onboarded, START) }],
    [
      'mismatch',
      {
        host: {
          ...registered,
          registrationStatus: status('Host Registration Failed due to mismatch', 'ERROR', START),
        },
      },
    ],
    ['wants-profile', { instance: undefined }],
    ['provisioning', {}],
    ['silent', {}, 5 * MINUTES],
    [
      'failed',
      {
        instance: {
          ...instance,
          provisioningStatus: status('Provisioning Failed: there is no profile x', 'ERROR', START),
        },
      },
    ],
    ['provisioning', { workflow: running }],
    ['provisioning', { workflow: running }, 9 * MINUTES],
    ['silent', { workflow: running }, 11 * MINUTES],
    ['paused', { workflow: { definition, progress: { ...running.progress, isPaused: true } } }, 11 * MINUTES],
    ['canceled', { workflow: { definition, progress: cancel(running.progress, 'by Anna', after(5)) } }],
    ['failed', { workflow: failed('exit status 1') }],
    ['failed', { workflow: workflow({ at: 1, index: 0, state: 'TIMEOUT', message: 'Action timed out' }) }],
    [
      'wants-approval',
      {
        workflow: failed(
          `KND_CONSENT_REQUIRED: plan ${'ab'.repeat(32)} wants consent: sda; next: Approve it.`,
        ),
      },
    ],
    ['first-boot', { instance: provisioned, workflow: running }, 29 * MINUTES],
    ['first-boot-late', { instance: provisioned }, 36 * MINUTES],
    [
      'provisioned',
      {
        instance: provisioned,
        host: { ...onboarded, hostStatus: status('Provisioned', 'IN_PROGRESS', START) },
      },
      99 * MINUTES,
    ],
    ['first-boot-failed', { instance: markFallback(provisioned, 3, START) }],
    ['running', { instance: markFirstBoot(provisioned, START) }, 99 * MINUTES],
    ['installing-agents', { instance: withAgents('installing') }, 34 * MINUTES],
    ['silent', { instance: withAgents('installing') }, 36 * MINUTES],
    ['agents-failed', { instance: withAgents('failed') }, 99 * MINUTES],
    ['running', { instance: withAgents('ready') }, 99 * MINUTES],
    [
      'provisioned',
      {
        instance: undefined,
        workflow: {
          definition: { ...definition, generation: 0 },
          progress: { ...running.progress, state: 'SUCCESS' },
        },
      },
    ],
  ])('%s', (expected, facts, seconds) => {
    expect(rowOf(facts, seconds).status).toBe(expected);
  });
});

test('a row says how far the stage is, as the agent says it', () => {
  const message = 'writing the image 61 % · 21 s left · fetchRate 3 · rawRate 412000000';
  const writing = workflow(
    { at: 1, index: 0, state: 'RUNNING', message: '' },
    { at: 50, index: 0, state: 'RUNNING', message },
  );
  expect(rowOf({ workflow: writing, macs: ['52:54:00:12:34:57'] })).toMatchObject({
    name: 'till-7',
    macs: ['52:54:00:12:34:56', '52:54:00:12:34:57'],
    profile: 'edge',
    group: 'running',
    stage: 'stream-os-image',
    doing: 'writing the image',
    stageIndex: 0,
    stageCount: 2,
    percent: 61,
    secondsLeft: 21,
    bytesPerSecond: 412_000_000,
    since: after(1).toISOString(),
    heardAt: after(50).toISOString(),
  });
});

test('a stage that has not said more than its name is told by what it does', () => {
  const row = rowOf({ workflow: workflow({ at: 1, index: 0, state: 'SUCCESS', message: '' }) });
  expect(row).toMatchObject({
    stage: 'reboot',
    doing: 'Rebooting',
    stageIndex: 1,
    percent: null,
    since: after(1).toISOString(),
  });
});

test('an agent that repeats itself is missed after two minutes, and its bar stands still', () => {
  const talked = workflow(
    { at: 1, index: 0, state: 'RUNNING', message: '' },
    { at: 20, index: 0, state: 'RUNNING', message: 'writing the image 40 % · 9 s left · rawRate 5' },
  );
  expect(
    floorNode({ host: onboarded, instance, workflow: talked, macs: [], firstBootMinutes: 30 }, after(60)),
  ).toMatchObject({
    changesAtMs: after(140).getTime(),
    node: { status: 'provisioning' },
  });
  expect(rowOf({ workflow: talked }, 140)).toMatchObject({
    status: 'silent',
    group: 'needs-hand',
    since: after(20).toISOString(),
    percent: 40,
    secondsLeft: null,
    bytesPerSecond: null,
    reason: { code: null, message: `no word since ${after(20).toISOString()}` },
  });
});

describe('the reason is in the row', () => {
  test('code, sentence and next step of our agent', () => {
    const text = 'KND_IMAGE_NOT_FOUND: http://x answers 404; because: HTTP 404; next: Correct the profile.';
    expect(rowOf({ workflow: failed(text) }).reason).toEqual({
      code: 'KND_IMAGE_NOT_FOUND',
      message: 'http://x answers 404; because: HTTP 404',
      next: 'Correct the profile.',
    });
  });

  test('another agent’s words, and what a person does with a failed node', () => {
    expect(rowOf({ workflow: failed('exit status 1') }).reason).toEqual({
      code: null,
      message: 'exit status 1',
      next: 'Read the reason, correct what it names, and retry.',
    });
  });

  test('a workflow that could not be made has the code of the failure', () => {
    const error = { code: 'KND_PROFILE_UNKNOWN', hint: 'Add it.' };
    const broken = { ...status('Provisioning Failed: there is no profile x', 'ERROR', START), error };
    expect(rowOf({ instance: { ...instance, provisioningStatus: broken } }).reason).toEqual({
      code: 'KND_PROFILE_UNKNOWN',
      message: 'there is no profile x',
      next: 'Add it.',
    });
  });

  test('a system that did not report', () => {
    const { reason } = rowOf({ instance: markFirstBootFailed(provisioned, 'no boot loader', START) });
    expect(reason).toMatchObject({
      code: 'KND_FIRST_BOOT_FAILED',
      message: expect.stringMatching(/^no boot loader/),
    });
  });

  test('nobody fills the row with text', () => {
    expect(rowOf({ workflow: failed('x'.repeat(16_000)) }).reason?.message).toHaveLength(2000);
  });
});
