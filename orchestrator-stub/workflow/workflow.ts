import { decodeFailure } from '../../protocol/failure-text.ts';
import type { HostId } from '../../protocol/ids.ts';

/** States with the meaning and names of Tinkerbell (without its STATE_ prefix), plus CANCELLED, which it does not have. */
export type ActionState = 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED' | 'TIMEOUT';
export type WorkflowState = ActionState | 'CANCELLED';

/** What a workflow consists of: fixed once it is rendered. */
export interface WorkflowDefinition {
  id: string;
  hostId: HostId;
  template: string;
  /** The instance's generation it provisions; 0 for a workflow an operator started by hand. */
  generation: number;
  /** Seconds; 0 = none. */
  globalTimeout: number;
  createdAt: string;
  actions: WorkflowAction[];
}

/** All actions of all tasks in one row: that is how both dialects count them. */
export interface WorkflowAction {
  /** ULIDs, as the current dialect wants them. */
  id: string;
  taskId: string;
  taskName: string;
  name: string;
  workerId: string;
  image: string;
  timeout: number;
  command: string[];
  volumes: string[];
  /** `K=V`, sorted. */
  environment: string[];
  pid: string;
  network: string;
}

/** How far it is. */
export interface WorkflowProgress {
  state: WorkflowState;
  isPaused: boolean;
  message: string;
  startedAt: string | null;
  finishedAt: string | null;
  actions: ActionProgress[];
}

export interface ActionProgress {
  state: ActionState;
  /** How often it was begun anew by "retry": 1 at first. */
  attempt: number;
  startedAt: string | null;
  stoppedAt: string | null;
  seconds: number;
  message: string;
  /** When the agent last said anything about it. */
  heardAt?: string;
  /** Hash of the plan an operator has approved for this attempt. */
  consent?: string;
}

/** One workflow: what is to be done and how far it is. */
export interface StoredWorkflow {
  definition: WorkflowDefinition;
  progress: WorkflowProgress;
}

/** What an agent says about one action. */
export interface ActionReport {
  index: number;
  state: Exclude<ActionState, 'PENDING'>;
  message: string;
}

const TERMINAL: ReadonlySet<WorkflowState> = new Set(['SUCCESS', 'FAILED', 'TIMEOUT', 'CANCELLED']);

export function isTerminal(state: WorkflowState): boolean {
  return TERMINAL.has(state);
}

export function newProgress(definition: WorkflowDefinition): WorkflowProgress {
  return {
    state: 'PENDING',
    isPaused: false,
    message: '',
    startedAt: null,
    finishedAt: null,
    actions: definition.actions.map(() => pendingAction(1)),
  };
}

/** Index of the first action that has not succeeded; the number of actions once all have. */
export function currentIndex(progress: WorkflowProgress): number {
  const index = progress.actions.findIndex(({ state }) => state !== 'SUCCESS');
  return index === -1 ? progress.actions.length : index;
}

/** What an agent says of an action is kept with it and in events; the log has the rest. */
const MOST_CHARACTERS = 16 * 1024;

/**
 * Applies what an agent reported about the current action. The caller has checked that it is the current one and
 * that the workflow is neither over nor paused.
 */
export function applyReport(progress: WorkflowProgress, report: ActionReport, now: Date): WorkflowProgress {
  const before = progress.actions[report.index];
  if (!before) return progress;
  const message = report.message.slice(0, MOST_CHARACTERS);
  const at = now.toISOString();
  const startedAt = before.startedAt ?? at;
  const isOver = report.state !== 'RUNNING';
  const action: ActionProgress = {
    ...before,
    state: report.state,
    startedAt,
    stoppedAt: isOver ? at : null,
    seconds: isOver ? Math.max(0, Math.round((now.getTime() - Date.parse(startedAt)) / 1000)) : 0,
    message,
    heardAt: at,
  };
  const actions = progress.actions.with(report.index, action);
  const isLast = report.index === actions.length - 1;
  const state: WorkflowState = report.state === 'SUCCESS' ? (isLast ? 'SUCCESS' : 'RUNNING') : report.state;
  return {
    ...progress,
    actions,
    state,
    startedAt: progress.startedAt ?? at,
    finishedAt: isTerminal(state) ? at : null,
    message: state === 'FAILED' || state === 'TIMEOUT' ? message : '',
  };
}

/** True when something other than a progress message differs: what an agent was told of must then survive a power cut. */
export function hasMoved(before: WorkflowProgress, after: WorkflowProgress): boolean {
  if (before.state !== after.state || before.isPaused !== after.isPaused) return true;
  return after.actions.some(({ state, attempt, consent }, index) => {
    const action = before.actions[index];
    return action?.state !== state || action.attempt !== attempt || action.consent !== consent;
  });
}

/** When a timeout falls due next, in ms since 1970; undefined while nothing is running. */
export function nextDeadline(
  definition: WorkflowDefinition,
  progress: WorkflowProgress,
  graceMs: number,
): number | undefined {
  if (isTerminal(progress.state)) return undefined;
  const deadlines: number[] = [];
  if (definition.globalTimeout > 0 && progress.startedAt) {
    deadlines.push(Date.parse(progress.startedAt) + definition.globalTimeout * 1000);
  }
  const index = currentIndex(progress);
  const action = progress.actions[index];
  const timeout = definition.actions[index]?.timeout ?? 0;
  if (action?.state === 'RUNNING' && action.startedAt && timeout > 0) {
    deadlines.push(Date.parse(action.startedAt) + timeout * 1000 + graceMs);
  }
  return deadlines.length > 0 ? Math.min(...deadlines) : undefined;
}

/** Ends a workflow whose time is up. The agent enforces timeouts too; the grace lets its own report win. */
export function applyTimeouts(
  definition: WorkflowDefinition,
  progress: WorkflowProgress,
  now: Date,
  graceMs: number,
): WorkflowProgress {
  const deadline = nextDeadline(definition, progress, graceMs);
  if (deadline === undefined || deadline > now.getTime()) return progress;
  const index = currentIndex(progress);
  const isGlobal =
    definition.globalTimeout > 0 &&
    progress.startedAt !== null &&
    Date.parse(progress.startedAt) + definition.globalTimeout * 1000 <= now.getTime();
  const message = isGlobal ? 'Workflow timed out' : 'Action timed out';
  return applyReport(progress, { index, state: 'TIMEOUT', message }, now);
}

/** Begins again at the action that failed; what succeeded before stays done. */
export function retry(progress: WorkflowProgress): WorkflowProgress {
  const index = currentIndex(progress);
  const failed = progress.actions[index];
  if (!failed) return progress;
  return {
    ...progress,
    state: index === 0 ? 'PENDING' : 'RUNNING',
    isPaused: false,
    message: '',
    // The global timeout counts from here: the time the operator took is not the node's.
    startedAt: null,
    finishedAt: null,
    actions: progress.actions.with(index, pendingAction(failed.attempt + 1)),
  };
}

/** The hash of the plan that the current action waits to have approved. */
export function planToApprove(progress: WorkflowProgress): string | undefined {
  const action = progress.actions[currentIndex(progress)];
  if (action?.state !== 'FAILED') return undefined;
  return decodeFailure(action.message)?.plan;
}

/** Begins the current action again, with consent to this plan and no other. */
export function approve(progress: WorkflowProgress, plan: string): WorkflowProgress {
  const again = retry(progress);
  const index = currentIndex(again);
  const action = again.actions[index];
  return action ? { ...again, actions: again.actions.with(index, { ...action, consent: plan }) } : again;
}

/** What an action is told: the template's variables, and the consent an operator gave. */
export function environmentOf(
  { environment }: Pick<WorkflowAction, 'environment'>,
  progress: ActionProgress | undefined,
): string[] {
  if (progress?.consent === undefined) return environment;
  const others = environment.filter((entry) => !entry.startsWith('KINDLING_CONSENT='));
  return [...others, `KINDLING_CONSENT=${progress.consent}`].sort();
}

export function cancel(progress: WorkflowProgress, reason: string, now: Date): WorkflowProgress {
  return { ...progress, state: 'CANCELLED', isPaused: false, message: reason, finishedAt: now.toISOString() };
}

export function pendingAction(attempt: number): ActionProgress {
  return { state: 'PENDING', attempt, startedAt: null, stoppedAt: null, seconds: 0, message: '' };
}
