import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Metadata, type Server, status } from '@grpc/grpc-js';
import {
  type ActionRequest,
  type ActionResponseSchema,
  type ActionStatusRequest,
  ActionStatusResponseSchema,
  ActionResponseSchema as ResponseSchema,
  ActionStatusRequest_StateType as StateType,
  WorkflowService,
} from '../../../protocol/generated/tink-current_pb.js';
import { type ServiceHandlers, serviceDefinition } from '../../../protocol/grpc-service.ts';
import { unauthenticated } from './tink-legacy-server.ts';

/** Behaves like today's Tinkerbell (docs/background/tinkerbell.md#getaction): one workflow, faults on demand. */
export class TinkCurrentServer {
  readonly agentId: string;
  actions: MessageInitShape<typeof ActionResponseSchema>[];
  states: StateType[];
  readonly reports: ActionStatusRequest[] = [];
  readonly requests: ActionRequest[] = [];
  readonly accepted: string[] = [];
  /** How long GetAction is held when there is nothing to do; a minute in reality. */
  holdMs = 50;
  onReport: (report: ActionStatusRequest, count: number) => void = () => {};
  afterReport: (report: ActionStatusRequest, count: number) => void = () => {};
  /** Answer for "nothing to do". */
  idle = { code: status.NOT_FOUND, details: 'no Workflows found' };
  authorize: (authorization: string) => boolean = () => true;

  constructor(agentId: string, actions: TinkCurrentServer['actions']) {
    this.agentId = agentId;
    this.actions = actions.map((action, index) => ({
      workflowId: 'default/workflow-1',
      taskId: '01HTASK',
      actionId: `01HACTION${index}`,
      agentId,
      timeout: 60n,
      ...action,
    }));
    this.states = actions.map(() => StateType.PENDING);
  }

  get isDone(): boolean {
    return this.states.every((state) => state === StateType.SUCCESS);
  }

  addTo = (server: Server): void => {
    server.addService(serviceDefinition(WorkflowService), {
      getAction: (call, callback) => {
        if (!this.#isAllowed(call.metadata)) return callback(unauthenticated());
        this.requests.push(call.request);
        const index = this.states.findIndex((state) => state !== StateType.SUCCESS);
        const state = this.states[index];
        // Since v0.24 an action that is RUNNING is served again to an agent that restarted.
        const isServed = state === StateType.PENDING || state === StateType.RUNNING;
        if (isServed && call.request.agentId === this.agentId) {
          return callback(null, create(ResponseSchema, this.actions[index]));
        }
        const failed = state === StateType.FAILED || state === StateType.TIMEOUT;
        const answer = failed
          ? { code: status.FAILED_PRECONDITION, details: 'current Action not in success state' }
          : this.idle;
        setTimeout(() => callback(answer), this.holdMs);
      },
      reportActionStatus: (call, callback) => {
        if (!this.#isAllowed(call.metadata)) return callback(unauthenticated());
        const report = call.request;
        this.reports.push(report);
        try {
          this.onReport(report, this.reports.length);
        } catch (error) {
          return callback(error as Error);
        }
        const index = this.actions.findIndex(({ actionId }) => actionId === report.actionId);
        if (!report.workflowId)
          return callback({ code: status.INVALID_ARGUMENT, details: 'invalid workflow id' });
        if (index < 0 || report.agentId !== this.agentId) {
          return callback({ code: status.NOT_FOUND, details: 'action not found' });
        }
        this.states[index] = report.actionState ?? StateType.UNSPECIFIED;
        this.accepted.push(`${report.actionName} ${StateType[report.actionState ?? 0]}`);
        this.afterReport(report, this.reports.length);
        callback(null, create(ActionStatusResponseSchema));
      },
    } satisfies ServiceHandlers<typeof WorkflowService>);
  };

  #isAllowed(metadata: Metadata): boolean {
    return this.authorize(String(metadata.get('authorization')[0] ?? ''));
  }
}
