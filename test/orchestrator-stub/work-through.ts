import { expect } from 'vitest';
import {
  WorkflowService as CurrentService,
  ActionStatusRequest_StateType as CurrentState,
} from '../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { NODE, type RunningStub } from './running-stub.ts';

/** Of the built-in template "ubuntu" for a profile that leaves the kernel as it is. */
export const TOTAL_ACTIONS = 12;

/** The node comes up in the Micro-OS, knocks, and does the next actions; gives what they were. */
export async function work(running: RunningStub, count: number, message = '') {
  const answer = await running.knock();
  expect(answer.status?.code).toBe(0);
  const client = running.client();
  const done: { name: string; environment: readonly string[] }[] = [];
  for (let step = 0; step < count; step += 1) {
    const action = await callUnary(client, CurrentService.method.getAction, { agentId: NODE.macId }, {});
    done.push({ name: action.name ?? '', environment: action.environment });
    for (const actionState of [CurrentState.RUNNING, CurrentState.SUCCESS]) {
      await callUnary(
        client,
        CurrentService.method.reportActionStatus,
        {
          workflowId: action.workflowId ?? '',
          taskId: action.taskId ?? '',
          actionId: action.actionId ?? '',
          agentId: NODE.macId,
          actionState,
          message: { message },
        },
        {},
      );
    }
  }
  return done;
}

/** Where the installed system reports its first boot. */
export function firstBootPath(actions: Awaited<ReturnType<typeof work>>): string {
  const cloudInit = actions.find(({ name }) => name === 'install-cloud-init')?.environment.join('\n') ?? '';
  return /\/api\/v1\/first-boot\/[0-9a-f]+/.exec(cloudInit)?.[0] ?? '';
}
