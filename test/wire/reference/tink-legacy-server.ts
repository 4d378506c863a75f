import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Metadata, type Server, status } from '@grpc/grpc-js';
import {
  EmptySchema,
  State,
  WorkflowActionListSchema,
  type WorkflowActionSchema,
  type WorkflowActionStatus,
  WorkflowContextSchema,
  WorkflowService,
} from '../../../protocol/generated/tink-legacy_pb.js';
import { type ServiceHandlers, serviceDefinition } from '../../../protocol/grpc-service.ts';

/**
 * Behaves like tink-server v0.10.0 (docs/background/emf.md#workflow-server): one workflow, kept in memory, with
 * faults on demand.
 */
export class TinkLegacyServer {
  readonly workerId: string;
  workflowId = 'workflow-4c4c4544';
  actions: (MessageInitShape<typeof WorkflowActionSchema> & { taskName: string; name: string })[];
  states: State[];
  isWorkflowThere = true;
  readonly reports: WorkflowActionStatus[] = [];
  polls = 0;
  /** Called before a report is applied; may throw the server's error. */
  onReport: (report: WorkflowActionStatus, count: number) => void = () => {};
  /** Called after a report was applied; may cut the connection, so that the reply is lost. */
  afterReport: (report: WorkflowActionStatus, count: number) => void = () => {};
  authorize: (authorization: string) => boolean = () => true;

  constructor(workerId: string, actions: TinkLegacyServer['actions']) {
    this.workerId = workerId;
    this.actions = actions;
    this.states = actions.map(() => State.PENDING);
  }

  get isDone(): boolean {
    return this.states.every((state) => state === State.SUCCESS);
  }

  /** "name STATE" of every report that was accepted. */
  readonly accepted: string[] = [];

  addTo = (server: Server): void => {
    server.addService(serviceDefinition(WorkflowService), {
      getWorkflowContexts: (call) => {
        this.polls += 1;
        if (!this.#isAllowed(call.metadata)) return void call.emit('error', unauthenticated());
        if (call.request.workerId === '') return void call.emit('error', invalid('invalid workflow id'));
        const index = this.#current();
        const current = index === undefined ? undefined : this.actions[index];
        const isOver = this.states.some((state) => state === State.FAILED || state === State.TIMEOUT);
        if (current && index !== undefined && !isOver && call.request.workerId === this.workerId) {
          call.write(
            create(WorkflowContextSchema, {
              workflowId: this.workflowId,
              currentWorker: this.workerId,
              currentTask: current.taskName,
              currentAction: current.name,
              currentActionIndex: BigInt(index),
              currentActionState: this.states[index] ?? State.PENDING,
              totalNumberOfActions: BigInt(this.actions.length),
            }),
          );
        }
        call.end(); // never held open
      },
      getWorkflowActions: (call, callback) => {
        if (!this.#isAllowed(call.metadata)) return callback(unauthenticated());
        if (call.request.workflowId !== this.workflowId || !this.isWorkflowThere) {
          return callback({ code: status.UNKNOWN, details: 'workflows.tinkerbell.org not found' });
        }
        const actionList = this.actions.map((action) => ({ workerId: this.workerId, ...action }));
        callback(null, create(WorkflowActionListSchema, { actionList }));
      },
      reportActionStatus: (call, callback) => {
        if (!this.#isAllowed(call.metadata)) return callback(unauthenticated());
        const report = call.request;
        this.reports.push(report);
        const error = this.#check(report);
        if (error) return callback(error);
        this.#apply(report);
        this.afterReport(report, this.reports.length);
        callback(null, create(EmptySchema));
      },
    } satisfies ServiceHandlers<typeof WorkflowService>);
  };

  #check(report: WorkflowActionStatus): { code: status; details: string } | undefined {
    try {
      this.onReport(report, this.reports.length);
    } catch (error) {
      return error as { code: status; details: string };
    }
    const current = this.actions[this.#current() ?? -1];
    if (report.workflowId !== this.workflowId || !this.isWorkflowThere) return invalid('invalid workflow id');
    if (report.taskName === '') return invalid('invalid task name');
    if (report.actionName === '') return invalid('invalid action name');
    if (report.actionStatus === State.PENDING) return invalid('invalid workflow id');
    if (report.taskName !== current?.taskName)
      return invalid('reported task name does not match the current action details');
    if (report.actionName !== current.name)
      return invalid('reported action name does not match the current action details');
    return undefined;
  }

  #apply(report: WorkflowActionStatus): void {
    const index = this.#current();
    if (index !== undefined) this.states[index] = report.actionStatus;
    this.accepted.push(`${report.actionName} ${State[report.actionStatus]}`);
  }

  #current(): number | undefined {
    const index = this.states.findIndex((state) => state !== State.SUCCESS);
    return index < 0 || !this.isWorkflowThere ? undefined : index;
  }

  #isAllowed(metadata: Metadata): boolean {
    return this.authorize(String(metadata.get('authorization')[0] ?? ''));
  }
}

export function invalid(details: string) {
  return Object.assign(new Error(details), { code: status.INVALID_ARGUMENT, details });
}

export function unauthenticated() {
  return Object.assign(new Error('no'), { code: status.UNAUTHENTICATED, details: 'token is expired' });
}
