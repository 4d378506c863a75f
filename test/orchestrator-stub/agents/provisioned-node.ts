import {
  WorkflowService as CurrentService,
  ActionStatusRequest_StateType as CurrentState,
} from '../../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../../protocol/grpc-service.ts';
import { NODE, RunningStub } from '../running-stub.ts';

/** A site that has installed one node with this profile, and the cloud-init that went to its disk. */
export async function provisionNode(
  profile: Record<string, unknown>,
): Promise<{ running: RunningStub; cloudInit: string }> {
  const running = await RunningStub.start({ port: 0, plainPort: false, releaseToken: 'signed' });
  const saved = await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://images.test/edge.raw.gz', skipKernelUpgrade: true, ...profile },
  });
  if (saved.status !== 200) throw new Error(saved.text);
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
  const { clientId, clientSecret } = await running.knock();
  const token = await running.accessToken({ clientId, clientSecret });
  const actions = await workThrough(running, token);
  const cloudInit = actions
    .find(({ name }) => name === 'install-cloud-init')
    ?.environment.find((each) => each.startsWith('CONTENTS='))
    ?.slice('CONTENTS='.length);
  if (cloudInit === undefined) throw new Error('the workflow has no cloud-init');
  return { running, cloudInit };
}

/** The node does every action of its workflow; gives what they were. */
async function workThrough(running: RunningStub, token: string) {
  const done: { name: string; environment: readonly string[] }[] = [];
  const client = running.client();
  const settings = { headers: { authorization: `Bearer ${token}` } };
  for (;;) {
    const action = await callUnary(
      client,
      CurrentService.method.getAction,
      { agentId: NODE.macId },
      settings,
    );
    done.push({ name: action.name ?? '', environment: action.environment });
    for (const actionState of [CurrentState.RUNNING, CurrentState.SUCCESS]) {
      const report = {
        workflowId: action.workflowId ?? '',
        taskId: action.taskId ?? '',
        actionId: action.actionId ?? '',
        agentId: NODE.macId,
        actionState,
        message: { message: '' },
      };
      await callUnary(client, CurrentService.method.reportActionStatus, report, settings);
    }
    if (action.name === 'reboot') return done;
  }
}
