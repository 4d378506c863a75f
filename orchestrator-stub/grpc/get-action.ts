import { status } from '@grpc/grpc-js';
import type { ActionResponse } from '../../protocol/generated/tink-current_pb.js';
import type { AskingAgent, Enrollment, NotEnrolled } from '../provisioning/enrollment.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { nextActionFor } from './current-answers.ts';
import { backendFailure, type Refusal, refusal } from './refusal.ts';

export interface GetActionParts {
  workflows: Workflows;
  enrollment: Enrollment;
  /** How long the call is held while there is nothing to do; 60 s as Tinkerbell does. */
  holdMs: number;
  stopping: AbortSignal;
  /** Told about whatever should not have happened. */
  onDefect: (thrown: unknown) => void;
}

export interface GetActionCall extends AskingAgent {
  mayUse: (workflow: StoredWorkflow) => boolean;
  onCanceled: (listener: () => void) => void;
}

/** Ids are kept for whoever asks: a MAC, or a name of that kind. */
const ID_CHARACTERS = 200;

export function isWorkerId(id: string): boolean {
  return id.length > 0 && id.length <= ID_CHARACTERS;
}

/**
 * GetAction of the current dialect (docs/background/tinkerbell.md#getaction): answers as soon as there is
 * something to do, otherwise holds the call and then says why there is nothing.
 */
export function getAction(parts: GetActionParts, call: GetActionCall): Promise<ActionResponse> {
  const { workflows, holdMs, stopping } = parts;
  const { agentId } = call;
  if (!isWorkerId(agentId)) throw refusal(status.INVALID_ARGUMENT, 'invalid Agent ID');
  noticeAgent(parts, call);
  const notEnrolled = enroll(parts, call);
  const { promise, resolve, reject } = Promise.withResolvers<ActionResponse>();
  const look = () => {
    const hasFinishedOne = workflows.index.lastOf(agentId) !== undefined;
    // Another node may have taken this one's MAC for its own: what is not the caller's is as if it were not there.
    const own = workflows.activeOf(agentId).filter(call.mayUse);
    const next = nextActionFor(agentId, own, hasFinishedOne);
    if (!('action' in next)) return hasFinishedOne ? next : (notEnrolled ?? next);
    resolve(next.action);
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
  call.onCanceled(() => {
    reject(refusal(status.CANCELLED, 'canceled by the agent'));
    settle();
  });
  if (stopping.aborted) onStopping();
  else look();
  return promise;
}

/** Errors are logged and ignored, as in Tinkerbell: they must not keep an agent from its work. */
function noticeAgent({ enrollment, onDefect }: GetActionParts, call: AskingAgent): void {
  try {
    enrollment.notice(call);
  } catch (thrown) {
    onDefect(thrown);
  }
}

const REASONS: Record<Exclude<NotEnrolled, 'off'>, (agentId: string) => Refusal> = {
  'disabled-for-host': () => ({
    code: status.FAILED_PRECONDITION,
    details: 'auto enrollment is disabled for this hardware',
  }),
  'no-rule': (agentId) => ({
    code: status.NOT_FOUND,
    details: `no Workflow Rule Sets found or matched for Agent ${agentId}`,
  }),
  'has-workflow': () => ({ code: status.FAILED_PRECONDITION, details: 'existing workflow found' }),
};

/** An agent nobody has a workflow for gets one by rule; otherwise the reason why not. */
function enroll(parts: GetActionParts, call: AskingAgent): Refusal | undefined {
  const { workflows, enrollment, onDefect } = parts;
  if (workflows.index.lastOf(call.agentId) !== undefined) return undefined;
  try {
    const reason = enrollment.enroll(call);
    return reason === undefined || reason === 'off' ? undefined : REASONS[reason](call.agentId);
  } catch (thrown) {
    throw backendFailure('error getting workflows', thrown, onDefect);
  }
}
