import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  State,
  type WorkflowAction,
  type WorkflowContext,
  WorkflowService,
} from '../../protocol/generated/tink-legacy_pb.js';
import { STORES_PROGRESS_HEADER } from '../../protocol/tink-dialect.ts';
import { hasGrpcCode } from '../connection/explain.ts';
import type { WorkflowChannel } from './channel.ts';
import {
  parseEnvironment,
  type ReportAnswer,
  type StatusReport,
  type Work,
  type WorkflowServer,
} from './work.ts';

const CALL_DEADLINE_MS = 60_000;
const DEFAULT_TIMEOUT_S = 3600;

const STATES = {
  running: State.RUNNING,
  success: State.SUCCESS,
  failed: State.FAILED,
  timeout: State.TIMEOUT,
} as const;

/** tink 0.9 to 0.12 and EMF: the server lists where each workflow stands, the worker asks every few seconds. */
export class TinkLegacy implements WorkflowServer {
  readonly dialect = 'tink-legacy';
  readonly #channel: WorkflowChannel;
  readonly #workerId: string;
  // To tink-server a repeated RUNNING is a new start time, and its text is thrown away: it gets none.
  #storesProgress = false;

  constructor(channel: WorkflowChannel, workerId: string) {
    this.#channel = channel;
    this.#workerId = workerId;
  }

  get storesProgress(): boolean {
    return this.#storesProgress;
  }

  async nextAction(signal?: AbortSignal): Promise<Work | undefined> {
    const contexts = await this.#contexts(signal);
    // One that has begun is finished before another is started.
    const ordered = contexts
      .filter(({ currentActionState }) => currentActionState !== State.FAILED)
      .filter(({ currentActionState }) => currentActionState !== State.TIMEOUT)
      .toSorted((a, b) => Number(isRunning(b)) - Number(isRunning(a)));
    for (const context of ordered) {
      const work = await this.#workOf(context, signal);
      if (work) return work;
    }
    return undefined;
  }

  async report(work: Work, report: StatusReport): Promise<ReportAnswer> {
    try {
      await this.#channel.call(
        WorkflowService.method.reportActionStatus,
        {
          workflowId: work.workflowId,
          taskName: work.taskId,
          actionName: work.name,
          actionStatus: STATES[report.state],
          seconds: BigInt(Math.floor(((report.stoppedAt ?? report.startedAt) - report.startedAt) / 1000)),
          message: report.message,
          createdAt: timestampFromMs(report.stoppedAt ?? report.startedAt),
          workerId: this.#workerId,
        },
        { deadlineMs: CALL_DEADLINE_MS },
      );
      return 'accepted';
    } catch (error) {
      // The same code stands for "you are late", "no such workflow" and "try again"; only the contexts tell which.
      if (hasGrpcCode(error, status.INVALID_ARGUMENT) && !(await this.#isStillAt(work))) return 'superseded';
      throw error;
    }
  }

  /** Whether the server still waits for this very action. A workflow that is not listed any more is over. */
  async #isStillAt(work: Work): Promise<boolean> {
    const context = (await this.#contexts()).find(({ workflowId }) => workflowId === work.workflowId);
    return context?.currentTask === work.taskId && context.currentAction === work.name;
  }

  /** The stream ends after the list; that is no failure and no reason to reconnect. */
  #contexts(signal?: AbortSignal): Promise<WorkflowContext[]> {
    return this.#channel.collect(
      WorkflowService.method.getWorkflowContexts,
      { workerId: this.#workerId },
      {
        deadlineMs: CALL_DEADLINE_MS,
        signal,
        onHeaders: (headers) => {
          this.#storesProgress = headers.get(STORES_PROGRESS_HEADER).length > 0;
        },
      },
    );
  }

  async #workOf(context: WorkflowContext, signal?: AbortSignal): Promise<Work | undefined> {
    const { actionList } = await this.#channel.call(
      WorkflowService.method.getWorkflowActions,
      { workflowId: context.workflowId },
      { deadlineMs: CALL_DEADLINE_MS, signal },
    );
    const index = startIndex(context);
    const action = actionList[index];
    if (!action || action.workerId !== this.#workerId) return undefined; // the end, or another worker's turn
    return toWork(context, action, index, actionList.length);
  }
}

function isRunning({ currentActionState }: WorkflowContext): boolean {
  return currentActionState === State.RUNNING;
}

function startIndex({ currentAction, currentActionState, currentActionIndex }: WorkflowContext): number {
  if (currentAction === '') return 0;
  return Number(currentActionIndex) + (currentActionState === State.SUCCESS ? 1 : 0);
}

function toWork(context: WorkflowContext, action: WorkflowAction, index: number, total: number): Work {
  const seconds = Number(action.timeout) > 0 ? Number(action.timeout) : DEFAULT_TIMEOUT_S;
  return {
    dialect: 'tink-legacy',
    workflowId: context.workflowId,
    taskId: action.taskName,
    actionId: action.name,
    name: action.name,
    image: action.image,
    timeoutMs: seconds * 1000,
    command: action.command,
    volumes: action.volumes,
    environment: parseEnvironment(action.environment),
    ...(action.pid === '' ? {} : { pidNamespace: action.pid }),
    serverState: isRunning(context) ? 'running' : 'pending',
    index,
    total,
  };
}
