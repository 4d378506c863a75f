import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  type ActionResponse,
  type AgentAttributesSchema,
  ActionStatusRequest_StateType as StateType,
  WorkflowService,
} from '../../protocol/generated/tink-current_pb.js';
import { hasGrpcCode } from '../connection/explain.ts';
import type { WorkflowChannel } from './channel.ts';
import { formatDuration } from './duration.ts';
import {
  parseEnvironment,
  type ReportAnswer,
  type StatusReport,
  type Work,
  type WorkflowServer,
} from './work.ts';

// The server holds the call for a minute (v0.17: five) before it says no. The deadline is only there to notice a connection
// that died without a word.
const GET_ACTION_DEADLINE_MS = 320_000;
// Reports are retried inside the server for up to a minute.
const REPORT_DEADLINE_MS = 75_000;

const STATES = {
  running: StateType.RUNNING,
  success: StateType.SUCCESS,
  failed: StateType.FAILED,
  timeout: StateType.TIMEOUT,
} as const;

export type Attributes = MessageInitShape<typeof AgentAttributesSchema>;

/** Today's Tinkerbell: the server gives one action at a time. */
export class TinkCurrent implements WorkflowServer {
  readonly dialect = 'tink-current';
  readonly storesProgress = true;
  readonly #channel: WorkflowChannel;
  readonly #agentId: string;
  readonly #attributes: Attributes;

  constructor(channel: WorkflowChannel, agentId: string, attributes: Attributes) {
    this.#channel = channel;
    this.#agentId = agentId;
    this.#attributes = attributes;
  }

  async nextAction(signal?: AbortSignal): Promise<Work | undefined> {
    try {
      const action = await this.#channel.call(
        WorkflowService.method.getAction,
        { agentId: this.#agentId, agentAttributes: this.#attributes },
        { deadlineMs: GET_ACTION_DEADLINE_MS, signal },
      );
      return toWork(action);
    } catch (error) {
      // "No workflow", "not your turn", "finished", "failed": nothing to do now. A deadline is an idle minute, too.
      const isIdle = hasGrpcCode(
        error,
        status.NOT_FOUND,
        status.FAILED_PRECONDITION,
        status.DEADLINE_EXCEEDED,
      );
      if (isIdle) return undefined;
      throw error;
    }
  }

  async report(work: Work, report: StatusReport): Promise<ReportAnswer> {
    try {
      await this.#channel.call(
        WorkflowService.method.reportActionStatus,
        {
          workflowId: work.workflowId,
          agentId: this.#agentId,
          taskId: work.taskId,
          actionId: work.actionId,
          actionName: work.name,
          actionState: STATES[report.state],
          executionStart: timestampFromMs(report.startedAt),
          ...(report.stoppedAt === undefined
            ? {}
            : {
                executionStop: timestampFromMs(report.stoppedAt),
                executionDuration: formatDuration(report.stoppedAt - report.startedAt),
              }),
          message: { message: report.message },
        },
        { deadlineMs: REPORT_DEADLINE_MS },
      );
      return 'accepted';
    } catch (error) {
      // The server has looked for a minute and does not know this action any more: the workflow was deleted or replaced.
      const isGone = hasGrpcCode(
        error,
        status.NOT_FOUND,
        status.INVALID_ARGUMENT,
        status.FAILED_PRECONDITION,
      );
      if (isGone) return 'superseded';
      throw error;
    }
  }
}

function toWork(action: ActionResponse): Work {
  const pidNamespace = action.namespaces?.pid || action.pid;
  const networkNamespace = action.namespaces?.network;
  return {
    dialect: 'tink-current',
    workflowId: action.workflowId ?? '',
    taskId: action.taskId ?? '',
    actionId: action.actionId ?? '',
    name: action.name ?? '',
    image: action.image ?? '',
    timeoutMs: Math.max(0, Number(action.timeout ?? 0n)) * 1000,
    command: action.command,
    volumes: action.volumes,
    environment: parseEnvironment(action.environment),
    ...(pidNamespace ? { pidNamespace } : {}),
    ...(networkNamespace ? { networkNamespace } : {}),
    serverState: 'unknown',
  };
}
