import { currentIndex, type StoredWorkflow } from '../workflow/workflow.ts';

/** Our agent repeats itself every fifteen seconds; a link that comes and goes has time to come back. */
const TALKING_MS = 2 * 60_000;
/** Agents of others say when an action begins and when it ends. Most actions take less. */
const TACITURN_MS = 10 * 60_000;

/** How long a node may say nothing before somebody should look at it. */
export function wordLimitMs(workflow: StoredWorkflow | undefined): number {
  const action = workflow?.progress.actions[currentIndex(workflow.progress)];
  if (action?.state !== 'RUNNING') return TALKING_MS;
  const hasTalked = action.heardAt !== undefined && action.heardAt !== action.startedAt;
  return hasTalked ? TALKING_MS : TACITURN_MS;
}

/** Since when a workflow is in the stage it is in. */
export function stageSince({ definition, progress }: StoredWorkflow): string {
  const index = currentIndex(progress);
  return progress.actions[index]?.startedAt ?? progress.actions[index - 1]?.stoppedAt ?? definition.createdAt;
}
