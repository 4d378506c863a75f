import { status } from '@grpc/grpc-js';
import type { ActionResponse } from '../../protocol/generated/tink-current_pb.js';
import type { AskingAgents } from '../nodes/asking-agents.ts';
import type { AskingAgent, Enrollment, NotEnrolled } from '../provisioning/enrollment.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { nextActionFor } from './current-answers.ts';
import { backendFailure, type Refusal, refusal, toRefusal } from './refusal.ts';

export interface GetActionParts {
  workflows: Workflows;
  enrollment: Enrollment;
  askingAgents: AskingAgents;
  /** How long the call is held while there is nothing to do; 60 s as Tinkerbell does. */
  holdMs: number;
  stopping: AbortSignal;
  /** Told about whatever should not have happened. */
  onDefect: (thrown: unknown) => void;
}

export interface GetActionCall extends AskingAgent {
  /** Undefined if a person asks in place of a node. */
  address: string | undefined;
  mayUse: (workflow: StoredWorkflow) => Promise<boolean>;
  onCanceled: (listener: () => void) => void;
}

/** Agents are kept by the id they ask with: a MAC, or a name of that kind. */
const ID_CHARACTERS = 200;

export function isWorkerId(id: string): boolean {
  return id.length > 0 && id.length <= ID_CHARACTERS;
}

/**
 * GetAction of the current dialect (docs/background/tinkerbell.md#getaction): answers as soon as there is
 * something to do, otherwise holds the call and then says why there is nothing.
 */
export async function getAction(parts: GetActionParts, call: GetActionCall): Promise<ActionResponse> {
  if (!isWorkerId(call.agentId)) throw refusal(status.INVALID_ARGUMENT, 'invalid Agent ID');
  const canceled = new AbortController();
  call.onCanceled(() => canceled.abort());
  await noticeAgent(parts, call);
  const notEnrolled = await enroll(parts, call);
  return holdCall(parts, call, notEnrolled, canceled.signal);
}

function holdCall(
  { workflows, holdMs, stopping, onDefect }: GetActionParts,
  { agentId, mayUse }: GetActionCall,
  notEnrolled: Refusal | undefined,
  canceled: AbortSignal,
): Promise<ActionResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ActionResponse>();
  // A wake-up begins a look of its own, with what is there then: one that waits for the store meanwhile misses nothing.
  const look = async () => {
    const hasFinishedOne = workflows.index.lastOf(agentId) !== undefined;
    const own: StoredWorkflow[] = [];
    // Another node may have taken this one's MAC for its own: what is not the caller's is as if it were not there.
    for (const workflow of workflows.activeOf(agentId)) if (await mayUse(workflow)) own.push(workflow);
    const next = nextActionFor(agentId, own, hasFinishedOne);
    if (!('action' in next)) return hasFinishedOne ? next : (notEnrolled ?? next);
    resolve(next.action);
    settle();
    return undefined;
  };
  const fail = (thrown: unknown) => {
    reject(toRefusal(thrown, onDefect));
    settle();
  };
  const lookNow = () => void look().catch(fail);
  const onStopping = () => fail(refusal(status.UNAVAILABLE, 'server shutting down'));
  const onCanceled = () => fail(refusal(status.CANCELLED, 'canceled by the agent'));
  const stopWaiting = workflows.index.wait(agentId, lookNow);
  const timer = setTimeout(() => {
    look().then((reason) => {
      if (reason) fail(refusal(reason.code, reason.details));
    }, fail);
  }, holdMs);
  timer.unref();
  const settle = () => {
    clearTimeout(timer);
    stopWaiting();
    stopping.removeEventListener('abort', onStopping);
    canceled.removeEventListener('abort', onCanceled);
  };
  stopping.addEventListener('abort', onStopping, { once: true });
  canceled.addEventListener('abort', onCanceled, { once: true });
  if (stopping.aborted) onStopping();
  else if (canceled.aborted) onCanceled();
  else lookNow();
  return promise;
}

/** Errors are logged and ignored, as in Tinkerbell: they must not keep an agent from its work. */
async function noticeAgent(parts: GetActionParts, call: GetActionCall): Promise<void> {
  const { enrollment, askingAgents, onDefect } = parts;
  try {
    if (call.address !== undefined) await askingAgents.heard(call, call.address);
    await enrollment.notice(call);
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
async function enroll(parts: GetActionParts, call: AskingAgent): Promise<Refusal | undefined> {
  const { workflows, enrollment, onDefect } = parts;
  if (workflows.index.lastOf(call.agentId) !== undefined) return undefined;
  try {
    const reason = await enrollment.enroll(call);
    return reason === undefined || reason === 'off' ? undefined : REASONS[reason](call.agentId);
  } catch (thrown) {
    throw backendFailure('error getting workflows', thrown, onDefect);
  }
}
