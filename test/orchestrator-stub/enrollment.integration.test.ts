import { type Client, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ActionStatusRequest_StateType as Current,
  WorkflowService,
} from '../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { failure, RunningStub } from './running-stub.ts';

const MAC = '52:54:00:00:00:01';
const TEMPLATE = (worker: string) => `version: "0.1"
name: one
global_timeout: 600
tasks: [{name: work, worker: "${worker}", actions: [{name: only, image: example.org/a/only:1, timeout: 60}]}]
`;
const attributes = {
  product: { vendor: 'Acme', name: 'Edge 1', serialNumber: 'AB12345' },
  cpu: { totalCores: 8 },
  block: [{ name: 'nvme0n1', size: '477GB' }],
};

let running: RunningStub;
let client: Client;

beforeEach(async () => {
  running = await RunningStub.start({ holdMs: 100 });
  client = running.client();
  await running.api('PUT', '/api/v1/templates/one', { json: { text: TEMPLATE('{{ .worker_id }}') } });
});

afterEach(() => running[Symbol.asyncDispose]());

const getAction = (agentId = MAC) =>
  callUnary(client, WorkflowService.method.getAction, { agentId, agentAttributes: attributes });
const site = (json: unknown) => running.api('PATCH', '/api/v1/site', { json });
const acmeRule = { name: 'acme', template: 'one', rules: ['{"product":{"vendor":["Acme"]}}'] };

describe('AgentAttributes', () => {
  test('are kept with the node that sends them, and shown', async () => {
    await running.api('POST', '/api/v1/nodes', { json: { mac: MAC, name: 'till' } });
    await failure(getAction());
    const { body } = await running.api('GET', '/api/v1/nodes/till');
    expect(body.attributes).toEqual(attributes);
    await running.restart();
    expect((await running.api('GET', '/api/v1/nodes/till')).body.attributes).toEqual(attributes);
  });

  test('of a machine nobody knows make it a stranger', async () => {
    await failure(getAction());
    await expectStranger();
  });
});

async function expectStranger() {
  const { nodes } = (await running.api('GET', '/api/v1/nodes')).body;
  expect(nodes).toMatchObject([{ name: MAC, macs: [MAC], status: 'stranger' }]);
}

describe('GetAction with auto enrollment (docs/background/tinkerbell.md#getaction, docs/background/tinkerbell.md#enrollment)', () => {
  test('row: enrollment off → NOT_FOUND “no Workflows found”', async () => {
    await site({ enrollmentRules: [acmeRule] });
    expect(await failure(getAction())).toEqual({ code: status.NOT_FOUND, details: 'no Workflows found' });
  });

  test('row: enrollment on, a rule fits → the first action in the same call, the machine is listed', async () => {
    await site({ autoEnrollment: true, enrollmentRules: [acmeRule] });
    const action = await getAction();
    expect(action).toMatchObject({ workflowId: 'enrollment-52-54-00-00-00-01', agentId: MAC, name: 'only' });
    const { nodes } = (await running.api('GET', '/api/v1/nodes')).body;
    expect(nodes).toMatchObject([
      { name: MAC, macs: [MAC], status: 'provisioning', statusText: 'Discovered, not registered' },
    ]);
    await callUnary(client, WorkflowService.method.reportActionStatus, {
      workflowId: action.workflowId ?? '',
      agentId: MAC,
      taskId: action.taskId ?? '',
      actionId: action.actionId ?? '',
      actionState: Current.SUCCESS,
    });
    expect(await failure(getAction()), 'enrolled once, not for ever').toEqual({
      code: status.FAILED_PRECONDITION,
      details: 'Workflow not in pending or running state',
    });
  });

  test('row: enrollment on, no rule fits → NOT_FOUND “no Workflow Rule Sets found or matched”', async () => {
    await site({
      autoEnrollment: true,
      enrollmentRules: [{ ...acmeRule, rules: ['{"product":{"vendor":["x"]}}'] }],
    });
    expect(await failure(getAction())).toEqual({
      code: status.NOT_FOUND,
      details: `no Workflow Rule Sets found or matched for Agent ${MAC}`,
    });
    await expectStranger();
  });

  test('row: enrollment switched off for this hardware → FAILED_PRECONDITION', async () => {
    await site({ autoEnrollment: true, enrollmentRules: [acmeRule] });
    await running.api('POST', '/api/v1/nodes', { json: { mac: MAC, name: 'till' } });
    await running.api('PATCH', '/api/v1/nodes/till', { json: { mayEnroll: false } });
    expect(await failure(getAction())).toEqual({
      code: status.FAILED_PRECONDITION,
      details: 'auto enrollment is disabled for this hardware',
    });
    await running.api('PATCH', '/api/v1/nodes/till', { json: { mayEnroll: true } });
    expect(await getAction()).toMatchObject({ name: 'only' });
  });

  test('row: the workflow is there but names another agent → FAILED_PRECONDITION “existing workflow found”', async () => {
    await running.api('PUT', '/api/v1/templates/one', { json: { text: TEMPLATE('somebody-else') } });
    await site({ autoEnrollment: true, enrollmentRules: [acmeRule] });
    await failure(getAction());
    expect(await failure(getAction())).toEqual({
      code: status.FAILED_PRECONDITION,
      details: 'existing workflow found',
    });
  });

  test('a rule whose template does not render is a failure of the server, and harms nobody else', async () => {
    await running.api('PUT', '/api/v1/templates/one', { json: { text: TEMPLATE('{{ .nothing }}') } });
    await site({ autoEnrollment: true, enrollmentRules: [acmeRule] });
    const refused = await failure(getAction());
    expect(refused.code).toBe(status.INTERNAL);
    expect(refused.details).toMatch(/^error getting workflows: .*nothing/);
    await expectStranger();
  });

  test('a rule names the agent’s id, gives values, and may make a workflow that waits', async () => {
    await running.api('PUT', '/api/v1/templates/one', {
      json: { text: TEMPLATE('{{ .who }}{{ .nothing }}') },
    });
    const rule = { ...acmeRule, agentValue: 'who', values: { nothing: '' }, isDisabled: true };
    await site({ autoEnrollment: true, enrollmentRules: [rule] });
    await failure(getAction());
    const [workflow] = (await running.api('GET', '/api/v1/workflows')).body.workflows;
    expect(workflow).toMatchObject({ isPaused: true, state: 'PENDING' });
    await running.api('POST', `/api/v1/workflows/${workflow.id}/resume`);
    expect(await getAction()).toMatchObject({ name: 'only' });
  });

  test('strangers are enrolled only as far as the site remembers unknown machines', async () => {
    await site({ autoEnrollment: true, enrollmentRules: [acmeRule], maxUnknownMachines: 1 });
    await getAction();
    expect(await failure(getAction('52:54:00:00:00:02'))).toMatchObject({ code: status.INTERNAL });
    expect(await getAction()).toMatchObject({ name: 'only' });
  });
});
