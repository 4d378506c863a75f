import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  type ActionResponse,
  ActionResponseSchema,
  type ActionStatusRequest,
  ActionStatusRequest_StateType as StateType,
} from '../../protocol/generated/tink-current_pb.js';
import {
  type ActionReport,
  currentIndex,
  environmentOf,
  isTerminal,
  type StoredWorkflow,
} from '../workflow/workflow.ts';
import type { ReportVerdict } from './legacy-answers.ts';
import type { Refusal } from './refusal.ts';

const REPORTED: Partial<Record<StateType, ActionReport['state']>> = {
  [StateType.RUNNING]: 'RUNNING',
  [StateType.FAILED]: 'FAILED',
  [StateType.TIMEOUT]: 'TIMEOUT',
  [StateType.SUCCESS]: 'SUCCESS',
};

/** The action an agent should run now, or why there is none (docs/background/tinkerbell.md#getaction). */
export type NextAction = { action: ActionResponse } | Refusal;

export function nextActionFor(
  agentId: string,
  active: readonly StoredWorkflow[],
  hasFinishedOne: boolean,
): NextAction {
  let reason: Refusal = hasFinishedOne
    ? { code: status.FAILED_PRECONDITION, details: 'Workflow not in pending or running state' }
    : { code: status.NOT_FOUND, details: 'no Workflows found' };
  for (const workflow of active) {
    const { definition, progress } = workflow;
    const index = currentIndex(progress);
    const action = definition.actions[index];
    if (action?.workerId !== agentId) {
      reason = { code: status.NOT_FOUND, details: 'Task not assigned to Agent' };
    } else if (progress.isPaused && progress.actions[index]?.state === 'PENDING') {
      // One that has not begun is held back as Tinkerbell holds one back whose machine is being prepared.
      const isPreparing = progress.state === 'PENDING';
      const details = isPreparing ? 'Workflow is in preparing state' : 'Workflow is paused';
      reason = { code: status.FAILED_PRECONDITION, details };
    } else {
      const answer = create(ActionResponseSchema, {
        workflowId: definition.id,
        taskId: action.taskId,
        agentId,
        actionId: action.id,
        name: action.name,
        image: action.image,
        timeout: BigInt(action.timeout),
        command: action.command,
        volumes: action.volumes,
        environment: environmentOf(action, progress.actions[index]),
        ...(action.pid ? { pid: action.pid } : {}),
        ...(action.pid || action.network ? { namespaces: { pid: action.pid, network: action.network } } : {}),
      });
      return { action: answer };
    }
  }
  return reason;
}

/** Reports are idempotent, and late ones about a workflow that is over are acknowledged: the agent exits on a refusal. */
export function judgeCurrentReport(
  message: ActionStatusRequest,
  workflow: StoredWorkflow | undefined,
): ReportVerdict {
  if (!message.workflowId) return refuse(status.INVALID_ARGUMENT, 'invalid workflow id');
  if (!message.taskId) return refuse(status.INVALID_ARGUMENT, 'invalid task name');
  if (!message.actionId) return refuse(status.INVALID_ARGUMENT, 'invalid action name');
  if (!workflow) {
    return refuse(status.INTERNAL, `error getting workflow: workflow ${message.workflowId} not found`);
  }
  const { definition, progress } = workflow;
  const index = definition.actions.findIndex(
    ({ id, workerId }) => id === message.actionId && workerId === message.agentId,
  );
  if (index === -1) return refuse(status.NOT_FOUND, 'action not found');
  const state = REPORTED[message.actionState ?? StateType.UNSPECIFIED];
  const isPending = message.actionState === StateType.PENDING;
  if (!state && !isPending) return refuse(status.INVALID_ARGUMENT, 'invalid action state');
  const current = currentIndex(progress);
  if (!state || isTerminal(progress.state) || index < current) return { kind: 'acknowledge' };
  if (index > current) return refuse(status.FAILED_PRECONDITION, 'current Action not in success state');
  return { kind: 'apply', report: { index, state, message: message.message?.message ?? '' } };
}

function refuse(code: status, details: string): ReportVerdict {
  return { kind: 'refuse', code, details };
}
