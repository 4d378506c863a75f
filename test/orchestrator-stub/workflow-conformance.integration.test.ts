import { type Client, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ActionStatusRequest_StateType as Current,
  WorkflowService as CurrentService,
} from '../../protocol/generated/tink-current_pb.js';
import { WorkflowService as LegacyService, State } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary, collectServerStream } from '../../protocol/grpc-service.ts';
import { failure, RunningStub } from './running-stub.ts';

const TEMPLATE = `version: "0.1"
name: two
global_timeout: 600
tasks:
  - name: work
    worker: "{{ .device_1 }}"
    environment: {B: task, A: task}
    actions:
      - {name: first, image: example.org/a/first:1, timeout: 60, environment: {B: action, C: "x=y\\nz"}}
      - {name: second, image: example.org/a/second:1, timeout: 60}
`;

let running: RunningStub;
let client: Client;
let counter = 0;

beforeAll(async () => {
  running = await RunningStub.start({ holdMs: 300, isStrict: true });
  client = running.client();
  await running.api('PUT', '/api/v1/templates/two', { json: { text: TEMPLATE } });
});

afterAll(() => running[Symbol.asyncDispose]());

/** A node with a workflow of two actions. */
async function start(): Promise<{ mac: string; id: string }> {
  const mac = `52:54:00:00:00:${String(++counter).padStart(2, '0')}`;
  await running.api('POST', '/api/v1/nodes', { json: { mac, name: `n${counter}` } });
  const { body } = await running.api('POST', '/api/v1/workflows', { json: { node: mac, template: 'two' } });
  return { mac, id: body.id };
}

const contexts = (workerId: string) =>
  collectServerStream(client, LegacyService.method.getWorkflowContexts, { workerId });
const report = (workflowId: string, actionName: string, actionStatus: State, message = '') =>
  callUnary(client, LegacyService.method.reportActionStatus, {
    workflowId,
    taskName: 'work',
    actionName,
    actionStatus,
    message,
  });
const getAction = (agentId: string, settings = {}) =>
  callUnary(client, CurrentService.method.getAction, { agentId }, settings);
const workflow = async (id: string) => (await running.api('GET', `/api/v1/workflows/${id}`)).body;

describe('legacy', () => {
  test('trap 7: the stream ends after the list, and an idle worker gets an empty one', async () => {
    expect(await contexts('nobody')).toEqual([]);
    expect(await failure(contexts(''))).toEqual({
      code: status.INVALID_ARGUMENT,
      details: 'invalid workflow id',
    });
  });

  test('trap 9: environments are merged, sorted K=V and keep their line breaks', async () => {
    const { id } = await start();
    const { actionList } = await callUnary(client, LegacyService.method.getWorkflowActions, {
      workflowId: id,
    });
    expect(actionList.map(({ environment }) => environment)).toEqual([
      ['A=task', 'B=action', 'C=x=y\nz'],
      ['A=task', 'B=task'],
    ]);
    expect(actionList[0]).toMatchObject({ taskName: 'work', timeout: 60n, onTimeout: [], onFailure: [] });
  });

  test('row: GetWorkflowActions without an id → INVALID_ARGUMENT, of an unknown one → UNKNOWN', async () => {
    const ask = (workflowId: string) =>
      callUnary(client, LegacyService.method.getWorkflowActions, { workflowId });
    expect(await failure(ask(''))).toEqual({ code: status.INVALID_ARGUMENT, details: 'invalid workflow id' });
    expect(await failure(ask('nope'))).toMatchObject({ code: status.UNKNOWN });
  });

  test('trap 8: only the current action may be reported; by the letter a repetition is refused', async () => {
    const { id } = await start();
    const mismatch = {
      code: status.INVALID_ARGUMENT,
      details: 'reported action name does not match the current action details',
    };
    expect(await failure(report(id, 'second', State.RUNNING))).toEqual(mismatch);
    await report(id, 'first', State.SUCCESS);
    expect(await failure(report(id, 'first', State.SUCCESS))).toEqual(mismatch);
    await running.restart({ isStrict: false });
    client = running.client();
    await report(id, 'first', State.SUCCESS);
    expect((await workflow(id)).current).toBe(1);
  });

  test('trap 16: TIMEOUT is not FAILED, and the reason is kept', async () => {
    const late = await start();
    await report(late.id, 'first', State.TIMEOUT, 'took too long');
    expect(await workflow(late.id)).toMatchObject({ state: 'TIMEOUT', message: 'took too long' });
    const broken = await start();
    await report(broken.id, 'first', State.FAILED, 'KND_X: no disk');
    expect(await workflow(broken.id)).toMatchObject({ state: 'FAILED', message: 'KND_X: no disk' });
    expect(await contexts(broken.mac)).toEqual([]);
  });

  test('trap 4: a worker id that differs in one byte gets nothing', async () => {
    const { mac } = await start();
    expect(await contexts(mac)).toHaveLength(1);
    expect(await contexts(mac.replaceAll(':', '-'))).toEqual([]);
  });
});

describe('current', () => {
  test('row: GetAction without a workflow → held, then NOT_FOUND; without an id → INVALID_ARGUMENT', async () => {
    const startedAt = performance.now();
    expect(await failure(getAction('idle'))).toEqual({
      code: status.NOT_FOUND,
      details: 'no Workflows found',
    });
    expect(performance.now() - startedAt).toBeGreaterThan(250);
    expect(await failure(getAction(''))).toEqual({
      code: status.INVALID_ARGUMENT,
      details: 'invalid Agent ID',
    });
  });

  test('work that appears meanwhile is handed out at once', async () => {
    const mac = `52:54:00:00:00:${String(++counter).padStart(2, '0')}`;
    await running.api('POST', '/api/v1/nodes', { json: { mac } });
    const asked = getAction(mac);
    await running.api('POST', '/api/v1/workflows', { json: { node: mac, template: 'two' } });
    expect(await asked).toMatchObject({ name: 'first', agentId: mac });
  });

  test('row: GetAction while an action runs → the same action; reports may be repeated, progress is kept', async () => {
    const { mac, id } = await start();
    const action = await getAction(mac);
    const say = (actionState: Current, message: string) =>
      callUnary(client, CurrentService.method.reportActionStatus, {
        workflowId: id,
        agentId: mac,
        taskId: action.taskId ?? '',
        actionId: action.actionId ?? '',
        actionName: action.name ?? '',
        actionState,
        message: { message },
      });
    await say(Current.RUNNING, 'running action');
    await say(Current.RUNNING, 'writing image 40 %');
    expect((await workflow(id)).actions[0]).toMatchObject({
      state: 'RUNNING',
      message: 'writing image 40 %',
    });
    expect((await getAction(mac)).actionId).toBe(action.actionId);
    await say(Current.SUCCESS, 'action completed');
    await say(Current.SUCCESS, 'action completed');
    expect((await getAction(mac)).name).toBe('second');
  });

  test('row: GetAction after a failed action → FAILED_PRECONDITION until there is something new', async () => {
    const { mac, id } = await start();
    await report(id, 'first', State.FAILED);
    expect(await failure(getAction(mac))).toEqual({
      code: status.FAILED_PRECONDITION,
      details: 'Workflow not in pending or running state',
    });
    const { body } = await running.api('POST', '/api/v1/workflows', { json: { node: mac, template: 'two' } });
    expect((await getAction(mac)).workflowId).toBe(body.id);
  });

  test('row: GetAction while the server stops → UNAVAILABLE; an agent that gives up waiting costs nothing', async () => {
    const stop = new AbortController();
    const given = failure(getAction('quitter', { signal: stop.signal }));
    stop.abort();
    expect(await given).toMatchObject({ code: status.CANCELLED });
    await running.restart({ holdMs: 60_000 });
    client = running.client();
    await client.waitForReady(Date.now() + 5000, () => {});
    const waiting = failure(getAction('patient'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const restarted = running.restart();
    expect(await waiting).toMatchObject({ code: status.UNAVAILABLE });
    await restarted;
    client = running.client();
  });
});

describe('the operator’s word', () => {
  test('pause: the running action ends, the next one waits for “resume”', async () => {
    const { mac, id } = await start();
    await report(id, 'first', State.RUNNING);
    await running.api('POST', `/api/v1/workflows/${id}/pause`);
    await report(id, 'first', State.SUCCESS);
    expect(await failure(report(id, 'second', State.RUNNING))).toMatchObject({ code: status.UNAVAILABLE });
    expect(await contexts(mac)).toEqual([]);
    await running.api('POST', `/api/v1/workflows/${id}/resume`);
    await report(id, 'second', State.RUNNING);
    expect(await running.api('POST', `/api/v1/workflows/${id}/resume`)).toMatchObject({
      status: 409,
      body: { code: 'KND_WORKFLOW_STATE' },
    });
  });

  test('retry: the failed action is offered again, what succeeded is not', async () => {
    const { mac, id } = await start();
    await report(id, 'first', State.SUCCESS);
    await report(id, 'second', State.FAILED, 'cable');
    expect((await running.api('POST', `/api/v1/workflows/${id}/retry`)).body).toMatchObject({
      state: 'RUNNING',
      current: 1,
      message: '',
    });
    expect((await contexts(mac))[0]).toMatchObject({
      currentAction: 'second',
      currentActionState: State.PENDING,
    });
    await report(id, 'second', State.SUCCESS);
    const done = await workflow(id);
    expect(done).toMatchObject({ state: 'SUCCESS' });
    expect(done.actions[1].attempt).toBe(2);
    expect((await running.api('POST', `/api/v1/workflows/${id}/retry`)).status).toBe(409);
  });

  test('consent: the action that waits for a plan goes on with its hash, and with no other', async () => {
    const { mac, id } = await start();
    const [plan, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
    const approve = (hash: string) =>
      running.api('POST', `/api/v1/workflows/${id}/approve`, { json: { plan: hash } });
    expect(await approve(plan)).toMatchObject({ status: 409, body: { code: 'KND_WORKFLOW_STATE' } });
    await report(id, 'first', State.FAILED, `KND_CONSENT_REQUIRED: plan ${plan} wants consent: sda`);
    expect(await workflow(id)).toMatchObject({ state: 'FAILED', planToApprove: plan });
    expect(await approve(other)).toMatchObject({ status: 409, body: { code: 'KND_WORKFLOW_STATE' } });
    expect(await approve('ab')).toMatchObject({ status: 400 });
    expect((await approve(plan.slice(0, 12))).body).toMatchObject({ planToApprove: null, current: 0 });
    const { actionList } = await callUnary(client, LegacyService.method.getWorkflowActions, {
      workflowId: id,
    });
    expect(actionList[0]?.environment).toContain(`KINDLING_CONSENT=${plan}`);
    expect(actionList[1]?.environment.join()).not.toContain('KINDLING_CONSENT');
    expect((await getAction(mac)).environment).toContain(`KINDLING_CONSENT=${plan}`);
    expect((await approve(plan)).status).toBe(409);
  });

  test('cancel: late results are taken note of, nothing new begins', async () => {
    const { mac, id } = await start();
    await report(id, 'first', State.RUNNING);
    await running.api('POST', `/api/v1/workflows/${id}/cancel`);
    await report(id, 'first', State.SUCCESS);
    expect(await failure(report(id, 'second', State.RUNNING))).toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    expect(await contexts(mac)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'CANCELLED', current: 0 });
  });
});

describe('one dialect only', () => {
  test('row: the other dialect → UNIMPLEMENTED, by which agents tell them apart', async () => {
    await running.restart({ dialects: ['tink-current'], holdMs: 50 });
    client = running.client();
    expect(await failure(contexts('x'))).toMatchObject({ code: status.UNIMPLEMENTED });
    await running.restart({ dialects: ['tink-legacy'] });
    client = running.client();
    expect(await contexts('x')).toEqual([]);
    expect(await failure(getAction('x'))).toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

test('an agent that vanished is timed out by the stub, also across a restart', async () => {
  let now = Date.now();
  await running.restart({ now: () => new Date(now), timeoutGraceMs: 0 });
  client = running.client();
  const { id } = await start();
  await report(id, 'first', State.RUNNING);
  now += 61_000;
  await running.restart({ now: () => new Date(now), timeoutGraceMs: 0 });
  await expect.poll(() => workflow(id)).toMatchObject({ state: 'TIMEOUT', message: 'Action timed out' });
});
