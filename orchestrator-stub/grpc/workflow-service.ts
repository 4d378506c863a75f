import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type handleUnaryCall,
  Metadata,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError,
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
import type { HostId } from '../../protocol/ids.ts';
import { dialectOfReport, STORES_PROGRESS_HEADER, type TinkDialect } from '../../protocol/tink-dialect.ts';
import type { Caller } from '../credentials/access.ts';
import { hasRight } from '../people/rights.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import { judgeCurrentReport } from './current-answers.ts';
import { type GetActionParts, getAction, isWorkerId } from './get-action.ts';
import { actionList, contextsFor, judgeLegacyReport, type ReportVerdict } from './legacy-answers.ts';
import { peerAddress } from './peer-address.ts';
import { backendFailure, refusal, toRefusal } from './refusal.ts';

export interface WorkflowServiceParts extends GetActionParts {
  /** Resolves when memory has what was committed anywhere before the call: the agent may have told another replica of its action. */
  refresh: () => Promise<void>;
  /** Undefined when the site asks for no tokens. */
  identify: ((metadata: Metadata) => Promise<Caller>) | undefined;
  /** Which of the two dialects are spoken; both by default. */
  dialects: readonly TinkDialect[];
  isStrict: boolean;
  /** Whether a person let this host in with this sign-in. */
  isLetInBy: (hostId: HostId, signIn: string) => Promise<boolean>;
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
    ...(speaksCurrent ? { GetAction: unary(answerGetAction) } : {}),
  });

  const currentFailures: StoreFailures = {
    reading: (thrown) => backendFailure('error getting workflow', thrown, parts.onDefect),
    writing: (thrown) => backendFailure('error writing report status', thrown, parts.onDefect),
  };
  /**
   * tink-server has one answer to everything, update conflicts included
   * (docs/background/tinkerbell.md#legacy-server).
   */
  const legacyFailure = (thrown: unknown) => {
    if (!parts.isStrict) return toRefusal(thrown, parts.onDefect);
    parts.onDefect(thrown);
    return refusal(status.INVALID_ARGUMENT, 'invalid workflow id');
  };
  const legacyFailures: StoreFailures = { reading: legacyFailure, writing: legacyFailure };

  function streamContexts(call: ServerWritableStream<WorkflowContextRequest, WorkflowContext>): void {
    whoIs(call.metadata)
      .then(async (caller) => {
        const { workerId } = call.request;
        if (!isWorkerId(workerId)) throw refusal(status.INVALID_ARGUMENT, 'invalid workflow id');
        await hear(caller, workerId, call.getPeer());
        const workflows: StoredWorkflow[] = [];
        for (const workflow of parts.workflows.activeOf(workerId)) {
          if (await mayUse(caller, workflow)) workflows.push(workflow);
        }
        if (!parts.isStrict) call.sendMetadata(progressHeaders());
        for (const context of contextsFor(workerId, workflows)) call.write(context);
        call.end();
      })
      .catch((thrown: unknown) => call.emit('error', toRefusal(thrown, parts.onDefect)));
  }

  async function getActions(
    call: ServerUnaryCall<WorkflowActionsRequest, WorkflowActionList>,
    caller: Caller | undefined,
  ): Promise<WorkflowActionList> {
    const { workflowId } = call.request;
    if (!workflowId) throw refusal(status.INVALID_ARGUMENT, 'invalid workflow id');
    const workflow = await parts.workflows.find(workflowId);
    // The raw Kubernetes error of a real server, which carries no gRPC code.
    if (!workflow) {
      throw refusal(status.UNKNOWN, `workflows.tinkerbell.org ${JSON.stringify(workflowId)} not found`);
    }
    await requireUse(caller, workflow);
    return actionList(workflow);
  }

  function answerGetAction(
    call: ServerUnaryCall<ActionRequest, ActionResponse>,
    caller: Caller | undefined,
  ): Promise<ActionResponse> {
    return getAction(parts, {
      agentId: call.request.agentId ?? '',
      attributes: call.request.agentAttributes,
      hostId: caller?.kind === 'node' ? caller.hostId : undefined,
      address: isMachine(caller) ? peerAddress(call.getPeer()) : undefined,
      mayUse: (workflow) => mayUse(caller, workflow),
      onCanceled: (listener) => {
        if (call['cancelled']) listener();
        else call.on('cancelled', listener);
      },
    });
  }

  /** A store that fails must not keep an agent from its work. */
  async function hear(caller: Caller | undefined, agentId: string, peer: string): Promise<void> {
    if (!isMachine(caller)) return;
    const hostId = caller?.hostId;
    await parts.askingAgents.heard({ agentId, hostId }, peerAddress(peer)).catch(parts.onDefect);
  }

  async function report(bytes: Buffer, caller: Caller | undefined): Promise<Buffer> {
    const spoken = parts.dialects.length === 1 ? parts.dialects[0] : undefined;
    const dialect = spoken ?? dialectOfReport(bytes) ?? 'tink-legacy';
    if (dialect === 'tink-legacy') {
      const message = decode(() => fromBinary(WorkflowActionStatusSchema, bytes));
      await judge(message.workflowId, caller, legacyFailures, (workflow) =>
        judgeLegacyReport(message, workflow, parts.isStrict),
      );
      return Buffer.from(toBinary(EmptySchema, create(EmptySchema)));
    }
    const message = decode(() => fromBinary(ActionStatusRequestSchema, bytes));
    await judge(message.workflowId ?? '', caller, currentFailures, (workflow) =>
      judgeCurrentReport(message, workflow),
    );
    return Buffer.from(toBinary(ActionStatusResponseSchema, create(ActionStatusResponseSchema)));
  }

  /** A node's token opens its own workflows, a person's those of the machine it was made at; the operator's opens all. */
  async function mayUse(
    caller: Caller | undefined,
    { definition: { hostId } }: StoredWorkflow,
  ): Promise<boolean> {
    switch (caller?.kind) {
      case undefined:
        return true;
      case 'node':
        return caller.hostId === hostId;
      case 'person':
        return hasRight(caller.person.role, 'nodes:stand-in');
      case 'user':
        return parts.isLetInBy(hostId, caller.signIn);
    }
  }

  async function requireUse(caller: Caller | undefined, workflow: StoredWorkflow): Promise<void> {
    if (!(await mayUse(caller, workflow))) {
      throw refusal(status.PERMISSION_DENIED, 'this workflow belongs to another node');
    }
  }

  /**
   * Finds the workflow, decides, and writes the decision down; decides again where the workflow has changed in between. A store that
   * fails is named in the dialect's words.
   */
  async function judge(
    workflowId: string,
    caller: Caller | undefined,
    failures: StoreFailures,
    decide: (workflow: StoredWorkflow | undefined) => ReportVerdict,
  ): Promise<void> {
    let isDone = false;
    while (!isDone) {
      const workflow = await parts.workflows.find(workflowId).catch(rethrow(failures.reading));
      if (workflow) await requireUse(caller, workflow);
      const verdict = decide(workflow);
      if (verdict.kind === 'refuse') throw refusal(verdict.code, verdict.details);
      if (!workflow || verdict.kind === 'acknowledge') return;
      isDone = await parts.workflows.report(workflow, verdict.report).catch(rethrow(failures.writing));
    }
  }

  async function whoIs(metadata: Metadata): Promise<Caller | undefined> {
    await parts.refresh();
    return parts.identify?.(metadata);
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

/** Without tokens everybody is taken for the machine it says it is. */
function isMachine(caller: Caller | undefined): caller is Extract<Caller, { kind: 'node' }> | undefined {
  return caller === undefined || caller.kind === 'node';
}

function progressHeaders(): Metadata {
  const headers = new Metadata();
  headers.set(STORES_PROGRESS_HEADER, 'yes');
  return headers;
}

/** What to answer when the store fails. */
interface StoreFailures {
  reading: (thrown: unknown) => ServiceError;
  writing: (thrown: unknown) => ServiceError;
}

function rethrow(toAnswer: (thrown: unknown) => ServiceError): (thrown: unknown) => never {
  return (thrown) => {
    throw toAnswer(thrown);
  };
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
