import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Client, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ActionStatusRequest_StateType as Current,
  WorkflowService as CurrentService,
} from '../../protocol/generated/tink-current_pb.js';
import { WorkflowService as LegacyService, State } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { failure, NODE, RunningStub } from './running-stub.ts';

const TEMPLATE = `version: "0.1"
name: one
global_timeout: 600
tasks: [{name: work, worker: "{{ .device_1 }}", actions: [{name: only, image: example.org/a/only:1, timeout: 60}]}]
`;

let running: RunningStub;
let client: Client;
let mac: string;
let id: string;
let counter = 0;

beforeAll(async () => {
  running = await RunningStub.start({ holdMs: 100 });
  client = running.client();
  await running.api('PUT', '/api/v1/templates/one', { json: { text: TEMPLATE } });
});

afterAll(() => running[Symbol.asyncDispose]());

beforeEach(async () => {
  mac = `52:54:00:00:00:0${++counter}`;
  await running.api('POST', '/api/v1/nodes', { json: { mac } });
  id = (await running.api('POST', '/api/v1/workflows', { json: { node: mac, template: 'one' } })).body.id;
});

/** A database that cannot be written while the returned thing lives. */
function breakTable(name: string): Disposable {
  const database = new DatabaseSync(join(running.folder, 'kindling.sqlite'));
  database.exec(`ALTER TABLE ${name} RENAME TO ${name}_away`);
  return {
    [Symbol.dispose]: () => {
      database.exec(`ALTER TABLE ${name}_away RENAME TO ${name}`);
      database.close();
    },
  };
}

const report = (workflowId = id) =>
  callUnary(client, LegacyService.method.reportActionStatus, {
    workflowId,
    taskName: 'work',
    actionName: 'only',
    actionStatus: State.SUCCESS,
  });

describe('a store that fails', () => {
  test('row: current report, status write failed → INTERNAL “error writing report status: …”, and nothing has changed', async () => {
    const action = await callUnary(client, CurrentService.method.getAction, { agentId: mac });
    const say = () =>
      callUnary(client, CurrentService.method.reportActionStatus, {
        workflowId: id,
        agentId: mac,
        taskId: action.taskId ?? '',
        actionId: action.actionId ?? '',
        actionState: Current.SUCCESS,
      });
    {
      using _broken = breakTable('workflow_progress');
      const refused = await failure(say());
      expect(refused.code).toBe(status.INTERNAL);
      expect(refused.details).toMatch(/^error writing report status: .*workflow_progress/);
    }
    expect((await running.api('GET', `/api/v1/workflows/${id}`)).body.state).toBe('PENDING');
    await say();
    expect((await running.api('GET', `/api/v1/workflows/${id}`)).body.state).toBe('SUCCESS');
  });

  test('row: current report, workflow cannot be read → INTERNAL “error getting workflow: …”', async () => {
    using _broken = breakTable('workflows');
    const refused = await failure(
      callUnary(client, CurrentService.method.reportActionStatus, {
        workflowId: 'not-in-memory',
        agentId: mac,
        taskId: 't',
        actionId: 'a',
        actionState: Current.SUCCESS,
      }),
    );
    expect(refused.code).toBe(status.INTERNAL);
    expect(refused.details).toMatch(/^error getting workflow: .*workflows/);
  });

  test('row: GetAction, attributes cannot be written → logged and ignored', async () => {
    using _broken = breakTable('agent_attributes');
    const asked = { agentId: mac, agentAttributes: { chassis: { serial: '1' } } };
    expect(await callUnary(client, CurrentService.method.getAction, asked)).toMatchObject({ name: 'only' });
  });

  test('row: onboarding, inventory error → 13 in-band, closed; Keycloak failure → the RPC ends with INTERNAL', async () => {
    await running.api('POST', '/api/v1/nodes', { json: { uuid: NODE.uuid, autoOnboard: true } });
    {
      using _broken = breakTable('hosts');
      const answer = await running.knock();
      expect(answer.status).toMatchObject({ code: 13, message: 'Internal server error' });
      expect(answer.isStreamOpen).toBe(false);
    }
    {
      using _broken = breakTable('clients');
      expect(await failure(running.knock())).toMatchObject({ code: status.INTERNAL });
    }
    expect((await running.knock()).clientId).toBe(`edgenode-${NODE.uuid}`);
  });

  test('row: legacy report, update conflict → INVALID_ARGUMENT “invalid workflow id” by the letter, INTERNAL otherwise', async () => {
    {
      using _broken = breakTable('workflow_progress');
      expect(await failure(report())).toMatchObject({ code: status.INTERNAL });
    }
    await running.restart({ isStrict: true });
    client = running.client();
    {
      using _broken = breakTable('workflow_progress');
      expect(await failure(report())).toEqual({
        code: status.INVALID_ARGUMENT,
        details: 'invalid workflow id',
      });
    }
    await report();
    expect((await running.api('GET', `/api/v1/workflows/${id}`)).body.state).toBe('SUCCESS');
  });
});
