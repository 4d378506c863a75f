import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type handleUnaryCall,
  type Metadata,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import {
  type ActionRequest,
  type ActionResponse,
  ActionStatusRequestSchema,
  ActionStatusResponseSchema,
  WorkflowService as CurrentService,
} from '../../protocol/generated/tink-current_pb.js';
import {
  EmptySchema,
  WorkflowService as LegacyService,
  type WorkflowActionList,
  WorkflowActionStatusSchema,
  type WorkflowActionsRequest,
  type WorkflowContext,
  type WorkflowContextRequest,
} from '../../protocol/generated/tink-legacy_pb.js';
import { methodDefinition } from '../../protocol/grpc-service.ts';
import { dialectOfReport, type TinkDialect } from '../../protocol/tink-dialect.ts';
import type { Caller } from '../credentials/access.ts';
import type { StoredWorkflow } from '../store/workflow-table.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { judgeCurrentReport, nextActionFor } from './current-answers.ts';
import { actionList, contextsFor, judgeLegacyReport, type ReportVerdict } from './legacy-answers.ts';
import { refusal, toRefusal } from './refusal.ts';

export interface WorkflowServiceParts {
  workflows: Workflows;
  /** Undefined when the site asks for no tokens. */
  identify: ((metadata: Metadata) => Promise<Caller>) | undefined;
  /** Which of the two dialects are spoken; both by default. */
  dialects: readonly TinkDialect[];
  /** How long GetAction is held while there is nothing to do; 60 s as Tinkerbell does. */
  holdMs: number;
  isStrict: boolean;
  /** Told about whatever should not have happened. */
  onDefect: (thrown: unknown) => void;
  stopping: AbortSignal;
}

/** `proto.WorkflowService` in both dialects on one port. Only ReportActionStatus is common: its bytes tell the dialect. */
export function addWorkflowService(server: Server, parts: WorkflowServiceParts): void {
  const { GetWorkflowContexts, GetWorkflowActions, GetAction, ReportActionStatus } = definitions();
  const speaksLegacy = parts.dialects.includes('tink-legacy');
  const speaksCurrent = parts.dialects.includes('tink-current');
  const definition: ServiceDefinition = {
    ReportActionStatus,
    ...(speaksLegacy ? { GetWorkflowContexts, GetWorkflowActions } : {}),
    ...(speaksCurrent ? { GetAction } : {}),
  };
  server.addService(definition, {
    ReportActionStatus: unary((call, caller) => report(call.request, caller)),
    ...(speaksLegacy ? { GetWorkflowContexts: streamContexts, GetWorkflowActions: unary(getActions) } : {}),
    ...(speaksCurrent ? { GetAction: unary(getAction) } : {}),
  });

  function streamContexts(call: ServerWritableStream<WorkflowContextRequest, WorkflowContext>): void {
    whoIs(call.metadata).then(
      (caller) => {
        const { workerId } = call.request;
        if (!workerId) return call.emit('error', refusal(status.INVALID_ARGUMENT, 'invalid workflow id'));
        const workflows = parts.workflows.activeOf(workerId).filter((workflow) => mayUse(caller, workflow));
        for (const context of contextsFor(workerId, workflows)) call.write(context);
        return call.end();
      },
      (thrown: unknown) => call.emit('error', toRefusal(thrown, parts.onDefect)),
    );
  }

  function getActions(
    call: ServerUnaryCall<WorkflowActionsRequest, WorkflowActionList>,
    caller: Caller | undefined,
  ): WorkflowActionList {
    const { workflowId } = call.request;
    if (!workflowId) throw refusal(status.INVALID_ARGUMENT, 'invalid workflow id');
    const workflow = parts.workflows.find(workflowId);
    // The raw Kubernetes error of a real server, which carries no gRPC code.
    if (!workflow) {
      throw refusal(status.UNKNOWN, `workflows.tinkerbell.org ${JSON.stringify(workflowId)} not found`);
    }
    requireUse(caller, workflow);
    return actionList(workflow);
  }

  function getAction(
    call: ServerUnaryCall<ActionRequest, ActionResponse>,
    caller: Caller | undefined,
  ): Promise<ActionResponse> {
    const agentId = call.request.agentId ?? '';
    if (!agentId) throw refusal(status.INVALID_ARGUMENT, 'invalid Agent ID');
    const { workflows, holdMs, stopping } = parts;
    const { promise, resolve, reject } = Promise.withResolvers<ActionResponse>();
    const look = () => {
      const next = nextActionFor(
        agentId,
        workflows.activeOf(agentId),
        workflows.index.lastOf(agentId) !== undefined,
      );
      if (!('action' in next)) return next;
      if (mayUse(caller, next.workflow)) resolve(next.action);
      else reject(refusal(status.PERMISSION_DENIED, 'this workflow belongs to another node'));
      settle();
      return undefined;
    };
    const onStopping = () => {
      reject(refusal(status.UNAVAILABLE, 'server shutting down'));
      settle();
    };
    const stopWaiting = workflows.index.wait(agentId, look);
    const timer = setTimeout(() => {
      const reason = look();
      if (reason) reject(refusal(reason.code, reason.details));
      settle();
    }, holdMs);
    timer.unref();
    const settle = () => {
      clearTimeout(timer);
      stopWaiting();
      stopping.removeEventListener('abort', onStopping);
    };
    stopping.addEventListener('abort', onStopping, { once: true });
    call.on('cancelled', () => {
      reject(refusal(status.CANCELLED, 'cancelled by the agent'));
      settle();
    });
    if (stopping.aborted) onStopping();
    else look();
    return promise;
  }

  function report(bytes: Buffer, caller: Caller | undefined): Buffer {
    const spoken = parts.dialects.length === 1 ? parts.dialects[0] : undefined;
    const dialect = spoken ?? dialectOfReport(bytes) ?? 'tink-legacy';
    if (dialect === 'tink-legacy') {
      const message = decode(() => fromBinary(WorkflowActionStatusSchema, bytes));
      const workflow = parts.workflows.find(message.workflowId);
      if (workflow) requireUse(caller, workflow);
      obey(message.workflowId, judgeLegacyReport(message, workflow, parts.isStrict));
      return Buffer.from(toBinary(EmptySchema, create(EmptySchema)));
    }
    const message = decode(() => fromBinary(ActionStatusRequestSchema, bytes));
    const workflow = parts.workflows.find(message.workflowId ?? '');
    if (workflow) requireUse(caller, workflow);
    obey(message.workflowId ?? '', judgeCurrentReport(message, workflow));
    return Buffer.from(toBinary(ActionStatusResponseSchema, create(ActionStatusResponseSchema)));
  }

  function obey(workflowId: string, verdict: ReportVerdict): void {
    if (verdict.kind === 'refuse') throw refusal(verdict.code, verdict.details);
    if (verdict.kind === 'apply') parts.workflows.report(workflowId, verdict.report);
  }

  function whoIs(metadata: Metadata): Promise<Caller | undefined> {
    return parts.identify ? parts.identify(metadata) : Promise.resolve(undefined);
  }

  function unary<Request, Response>(
    answer: (
      call: ServerUnaryCall<Request, Response>,
      caller: Caller | undefined,
    ) => Response | Promise<Response>,
  ): handleUnaryCall<Request, Response> {
    return (call, callback: sendUnaryData<Response>) => {
      whoIs(call.metadata)
        .then((caller) => answer(call, caller))
        .then(
          (response) => callback(null, response),
          (thrown: unknown) => callback(toRefusal(thrown, parts.onDefect)),
        );
    };
  }
}

/** A node's token opens its own workflows only; people's tokens open all of the site. */
function mayUse(caller: Caller | undefined, workflow: StoredWorkflow): boolean {
  return caller?.kind !== 'node' || caller.hostId === workflow.definition.hostId;
}

function requireUse(caller: Caller | undefined, workflow: StoredWorkflow): void {
  if (!mayUse(caller, workflow)) {
    throw refusal(status.PERMISSION_DENIED, 'this workflow belongs to another node');
  }
}

/** Bytes that are no message: the code grpc-go answers with. */
function decode<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw refusal(status.INTERNAL, `grpc: error unmarshalling request: ${(cause as Error).message}`);
  }
}

function definitions() {
  const asBytes = (bytes: Buffer) => bytes;
  const legacy = LegacyService.method;
  return {
    GetWorkflowContexts: methodDefinition(legacy.getWorkflowContexts),
    GetWorkflowActions: methodDefinition(legacy.getWorkflowActions),
    GetAction: methodDefinition(CurrentService.method.getAction),
    ReportActionStatus: {
      ...methodDefinition(legacy.reportActionStatus),
      requestSerialize: asBytes,
      requestDeserialize: asBytes,
      responseSerialize: asBytes,
      responseDeserialize: asBytes,
    },
  };
}
