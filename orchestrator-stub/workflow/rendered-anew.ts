import { redact } from '../../net/redact.ts';
import { KindlingError } from '../../protocol/error.ts';
import {
  currentIndex,
  pendingAction,
  retry,
  type StoredWorkflow,
  type WorkflowAction,
  type WorkflowDefinition,
} from './workflow.ts';

/** Values of these may be secret, or are whole files. */
const NOT_SHOWN = /KEY|SECRET|TOKEN|PASSWORD|CERT|CONTENTS|DATA|CMD_LINE|AUTH/i;
const LONGEST_SHOWN = 200;

/**
 * A workflow that failed, to be tried again with today's profile, template and hardware. What has been carried out stays; if
 * that has changed since, going on would mix two systems, and doing it again would write the disk twice.
 */
export function renderedAnew(failed: StoredWorkflow, fresh: WorkflowDefinition): StoredWorkflow {
  const { definition, progress } = failed;
  const index = currentIndex(progress);
  const done = definition.actions.slice(0, index);
  for (const [at, action] of done.entries()) {
    const changes = whatChanged(action, fresh.actions[at]);
    if (changes.length > 0) throw alreadyDone(definition.id, action.name, changes);
  }
  const actions = [
    ...done,
    // The ids stay, so that an agent that heard of an action before knows it again.
    ...fresh.actions.slice(index).map((action, offset) => {
      const old = definition.actions[index + offset];
      return old?.name === action.name ? { ...action, id: old.id, taskId: old.taskId } : action;
    }),
  ];
  const changes = describeChanges(definition.actions, actions);
  const attempts = progress.actions.slice(0, index + 1);
  return {
    definition: { ...fresh, id: definition.id, createdAt: definition.createdAt, actions },
    progress: {
      ...retry({
        ...progress,
        actions: actions.map((_, at) => attempts[at] ?? pendingAction(1)),
      }),
      message:
        changes.length > 0
          ? `since the failed try: ${changes.join('; ')}`
          : 'nothing changed since the failed try',
    },
  };
}

function describeChanges(before: WorkflowAction[], after: WorkflowAction[]): string[] {
  const changed = after.flatMap((action, at) => whatChanged(before[at], action));
  const dropped = before.slice(after.length).map(({ name }) => `${name} is gone`);
  return [...changed, ...dropped];
}

function whatChanged(before: WorkflowAction | undefined, after: WorkflowAction | undefined): string[] {
  if (!after) return before ? [`${before.name} is gone`] : [];
  if (!before) return [`${after.name} is new`];
  if (before.name !== after.name) return [`${after.name} instead of ${before.name}`];
  const changes: string[] = [];
  if (before.image !== after.image) changes.push(`${after.name} has the image ${after.image}`);
  for (const key of ['command', 'volumes', 'timeout', 'pid', 'network', 'workerId'] as const) {
    if (String(before[key]) !== String(after[key])) changes.push(`${after.name} has another ${key}`);
  }
  for (const name of new Set([...before.environment, ...after.environment].map(nameOf))) {
    const [old, now] = [settingOf(before, name), settingOf(after, name)];
    if (old === now) continue;
    if (now === undefined) changes.push(`${after.name} has no ${name}`);
    else
      changes.push(`${after.name} has ${isShown(name, now) ? `${name}=${shown(now)}` : `another ${name}`}`);
  }
  return changes;
}

function isShown(name: string, value: string): boolean {
  return !NOT_SHOWN.test(name) && value.length <= LONGEST_SHOWN && !value.includes('\n');
}

/** Addresses may carry a login. */
function shown(value: string): string {
  return /^https?:/.test(value) ? redact(value) : value;
}

function nameOf(entry: string): string {
  return entry.slice(0, entry.indexOf('='));
}

function settingOf({ environment }: WorkflowAction, name: string): string | undefined {
  return environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
}

function alreadyDone(id: string, action: string, changes: string[]): KindlingError {
  return new KindlingError(
    'KND_WORKFLOW_STATE',
    `workflow ${id}: ${action} has been carried out, and would be another one today: ${changes.join('; ')}`,
    {
      hint: `To begin anew, disk included: kindling node reprovision. To go on with the old values: kindling workflow retry ${id} --as-it-was.`,
    },
  );
}
