import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  State,
  type WorkflowActionList,
  WorkflowActionListSchema,
  type WorkflowActionStatus,
  type WorkflowContext,
  WorkflowContextSchema,
} from '../../protocol/generated/tink-legacy_pb.js';
import {
  type ActionReport,
  type ActionState,
  currentIndex,
  environmentOf,
  isTerminal,
  type StoredWorkflow,
} from '../workflow/workflow.ts';
import type { Refusal } from './refusal.ts';

const STATES: Record<ActionState, State> = {
  PENDING: State.PENDING,
  RUNNING: State.RUNNING,
  FAILED: State.FAILED,
  TIMEOUT: State.TIMEOUT,
  SUCCESS: State.SUCCESS,
};

const REPORTED: Partial<Record<State, ActionReport['state']>> = {
  [State.RUNNING]: 'RUNNING',
  [State.FAILED]: 'FAILED',
  [State.TIMEOUT]: 'TIMEOUT',
  [State.SUCCESS]: 'SUCCESS',
};

/**
 * One context per workflow whose current action is this worker's (docs/background/emf.md#workflow-server). A
 * paused one is left out.
 */
export function contextsFor(workerId: string, workflows: readonly StoredWorkflow[]): WorkflowContext[] {
  return workflows.flatMap(({ definition, progress }) => {
    const index = currentIndex(progress);
    const action = definition.actions[index];
    if (action?.workerId !== workerId || progress.isPaused) return [];
    return [
      create(WorkflowContextSchema, {
        workflowId: definition.id,
        currentWorker: workerId,
        currentTask: action.taskName,
        currentAction: action.name,
        currentActionIndex: BigInt(index),
        currentActionState: STATES[progress.actions[index]?.state ?? 'PENDING'],
        totalNumberOfActions: BigInt(definition.actions.length),
      }),
    ];
  });
}

/** Every action of every task; `on_timeout` and `on_failure` are never filled by a real server either. */
export function actionList({ definition, progress }: StoredWorkflow): WorkflowActionList {
  return create(WorkflowActionListSchema, {
    actionList: definition.actions.map((action, index) => ({
      taskName: action.taskName,
      name: action.name,
      image: action.image,
      timeout: BigInt(action.timeout),
      command: action.command,
      workerId: action.workerId,
      volumes: action.volumes,
      environment: environmentOf(action, progress.actions[index]),
      pid: action.pid,
    })),
  });
}

export type ReportVerdict =
  | { kind: 'apply'; report: ActionReport }
  /** Known already, or too late to matter: answered with OK, nothing changes. */
  | { kind: 'acknowledge' }
  | ({ kind: 'refuse' } & Refusal);

/**
 * What to do with a report. `isStrict` refuses the repetition of a report that was already applied, as tink-server does;
 * otherwise it is acknowledged, so that a lost reply does not leave a foreign worker in a loop for ever.
 */
export function judgeLegacyReport(
  message: WorkflowActionStatus,
  workflow: StoredWorkflow | undefined,
  isStrict: boolean,
): ReportVerdict {
  if (!message.workflowId) return invalid('invalid workflow id');
  if (!message.taskName) return invalid('invalid task name');
  if (!message.actionName) return invalid('invalid action name');
  const state = REPORTED[message.actionStatus];
  if (!workflow || !state) return invalid('invalid workflow id');
  const { definition, progress } = workflow;
  const index = currentIndex(progress);
  const current = definition.actions[index];
  const named = definition.actions.findIndex(
    (action) => action.taskName === message.taskName && action.name === message.actionName,
  );
  const isPast = named !== -1 && (named < index || isTerminal(progress.state));
  if (isPast && state !== 'RUNNING' && !(isStrict && named < index)) return { kind: 'acknowledge' };
  if (current?.taskName !== message.taskName) {
    return invalid('reported task name does not match the current action details');
  }
  if (current.name !== message.actionName || isTerminal(progress.state)) {
    return invalid('reported action name does not match the current action details');
  }
  // A worker repeats its report until it is accepted: refusing the start of an action is how it can be made to wait.
  if (progress.isPaused && state === 'RUNNING' && progress.actions[index]?.state !== 'RUNNING') {
    return { kind: 'refuse', code: status.UNAVAILABLE, details: 'the workflow is paused' };
  }
  return { kind: 'apply', report: { index, state, message: message.message } };
}

function invalid(details: string): ReportVerdict {
  return { kind: 'refuse', code: status.INVALID_ARGUMENT, details };
}
