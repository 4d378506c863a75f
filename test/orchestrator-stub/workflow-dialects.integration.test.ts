import type { Client } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import {
  WorkflowService as CurrentService,
  ActionStatusRequest_StateType as CurrentState,
} from '../../protocol/generated/tink-current_pb.js';
import { WorkflowService as LegacyService, State } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary, collectServerStream } from '../../protocol/grpc-service.ts';
import { NODE, RunningStub } from './running-stub.ts';

function contexts(client: Client, workerId: string, headers: Record<string, string> = {}) {
  return collectServerStream(client, LegacyService.method.getWorkflowContexts, { workerId }, { headers });
}

async function prepared(options = {}) {
  const running = await RunningStub.start(options);
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://images.test/ubuntu.raw.gz', osType: 'MUTABLE', skipKernelUpgrade: true },
  });
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
  const answer = await running.knock();
  expect(answer.status?.code).toBe(0);
  const token = await running.accessToken(answer);
  return { running, headers: { authorization: `Bearer ${token}` } };
}

for (const transport of ['TLS + JWT', 'h2c'] as const) {
  const options = transport === 'h2c' ? {} : { port: 0, plainPort: false as const };

  test(`a legacy worker takes a node from onboarding to first boot over ${transport}`, async () => {
    const { running, headers } = await prepared(options);
    await using _running = running;
    const client = running.client();
    const [context] = await contexts(client, NODE.macId, headers);
    expect(context).toMatchObject({
      workflowId: `workflow-${NODE.uuid}-g1`,
      currentAction: 'secure-boot-status-flag-read',
      currentActionIndex: 0n,
      currentActionState: State.PENDING,
      totalNumberOfActions: 12n,
    });
    const workflowId = context?.workflowId ?? '';
    const { actionList } = await callUnary(
      client,
      LegacyService.method.getWorkflowActions,
      { workflowId },
      { headers },
    );
    for (const action of actionList) {
      for (const actionStatus of [State.RUNNING, State.SUCCESS]) {
        await callUnary(
          client,
          LegacyService.method.reportActionStatus,
          {
            workflowId,
            taskName: action.taskName,
            actionName: action.name,
            actionStatus,
            workerId: NODE.macId,
          },
          { headers },
        );
      }
    }
    expect(await contexts(client, NODE.macId, headers)).toEqual([]);
    const node = (await running.api('GET', `/api/v1/nodes/${NODE.uuid}`)).body;
    expect(node).toMatchObject({
      status: 'Rebooting',
      provisionedGeneration: 1,
      workflow: { state: 'SUCCESS' },
    });
    const cloudInit =
      actionList.find(({ name }) => name === 'install-cloud-init')?.environment.join('\n') ?? '';
    const path = /\/api\/v1\/first-boot\/[0-9a-f]+/.exec(cloudInit)?.[0] ?? '';
    expect((await running.api('POST', path, { json: {}, token: null })).status).toBe(200);
    expect((await running.api('GET', `/api/v1/nodes/${NODE.uuid}`)).body.status).toBe('Running');
  });

  test(`a current agent does the same over ${transport}`, async () => {
    const { running, headers } = await prepared(options);
    await using _running = running;
    const client = running.client();
    const names: string[] = [];
    for (let step = 0; step < 12; step++) {
      const action = await callUnary(
        client,
        CurrentService.method.getAction,
        { agentId: NODE.macId },
        { headers },
      );
      names.push(action.name ?? '');
      for (const actionState of [CurrentState.RUNNING, CurrentState.SUCCESS]) {
        await callUnary(
          client,
          CurrentService.method.reportActionStatus,
          {
            workflowId: action.workflowId ?? '',
            taskId: action.taskId ?? '',
            actionId: action.actionId ?? '',
            agentId: NODE.macId,
            actionName: action.name ?? '',
            actionState,
            message: { message: 'as told' },
          },
          { headers },
        );
      }
    }
    expect(names.at(0)).toBe('secure-boot-status-flag-read');
    expect(names.at(-1)).toBe('reboot');
    const node = (await running.api('GET', `/api/v1/nodes/${NODE.uuid}`)).body;
    expect(node).toMatchObject({ provisionedGeneration: 1, workflow: { state: 'SUCCESS' } });
  });
}

test('with TLS a call without a token is refused, and so is one after the node was deauthorized', async () => {
  const { running, headers } = await prepared({ port: 0, plainPort: false });
  await using _running = running;
  const client = running.client();
  await expect(contexts(client, NODE.macId)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  expect(await contexts(client, NODE.macId, headers)).toHaveLength(1);
  await running.api('POST', `/api/v1/nodes/${NODE.uuid}/deauthorise`);
  await expect(contexts(client, NODE.macId, headers)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
});
