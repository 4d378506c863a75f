import type { FloorNode, NodeStatus } from '../../protocol/floor.ts';

/** What a person can do with a node. */
export type ActionName =
  | 'retry'
  | 'approve'
  | 'resume'
  | 'pause'
  | 'cancel'
  | 'onboard'
  | 'provision'
  | 'reprovision'
  | 'register'
  | 'deauthorize'
  | 'delete';

interface ActionWords {
  /** On its button; with an ellipsis where a question follows. */
  label: string;
  /** While it is on its way. */
  doing: string;
  /** It destroys what is on a disk, or the node's record: one tap is not enough. */
  isDestructive: boolean;
  right: string;
}

export const ACTIONS: Readonly<Record<ActionName, ActionWords>> = {
  retry: { label: 'Retry', doing: 'Retrying', isDestructive: false, right: 'nodes:install' },
  approve: {
    label: 'Approve plan…',
    doing: 'Approving',
    isDestructive: true,
    right: 'nodes:erase',
  },
  resume: { label: 'Resume', doing: 'Resuming', isDestructive: false, right: 'nodes:install' },
  pause: { label: 'Pause', doing: 'Pausing', isDestructive: false, right: 'nodes:install' },
  cancel: { label: 'Cancel', doing: 'Canceling', isDestructive: false, right: 'nodes:erase' },
  onboard: { label: 'Let in', doing: 'Letting in', isDestructive: false, right: 'nodes:install' },
  provision: {
    label: 'Choose profile…',
    doing: 'Choosing',
    isDestructive: false,
    right: 'nodes:install',
  },
  reprovision: {
    label: 'Wipe and install…',
    doing: 'Ordering',
    isDestructive: true,
    right: 'nodes:erase',
  },
  register: { label: 'Accept…', doing: 'Accepting', isDestructive: false, right: 'nodes:install' },
  deauthorize: {
    label: 'Deauthorize…',
    doing: 'Deauthorizing',
    isDestructive: true,
    right: 'nodes:erase',
  },
  delete: { label: 'Delete…', doing: 'Deleting', isDestructive: true, right: 'nodes:erase' },
};

/** What may sensibly be done in each status; the first is the way on, and stands in the row. */
const BY_STATUS: Readonly<Record<NodeStatus, readonly ActionName[]>> = {
  failed: ['retry', 'reprovision', 'deauthorize', 'delete'],
  'wants-approval': ['approve', 'cancel'],
  'first-boot-failed': ['reprovision', 'deauthorize', 'delete'],
  'first-boot-late': ['reprovision', 'deauthorize', 'delete'],
  'agents-failed': ['reprovision', 'deauthorize', 'delete'],
  silent: ['cancel', 'deauthorize', 'delete'],
  mismatch: ['delete'],
  'wants-onboard': ['onboard', 'deauthorize', 'delete'],
  'wants-profile': ['provision', 'deauthorize', 'delete'],
  paused: ['resume', 'cancel'],
  canceled: ['retry', 'reprovision', 'deauthorize', 'delete'],
  provisioning: ['pause', 'cancel', 'deauthorize'],
  'first-boot': ['deauthorize'],
  'installing-agents': ['reprovision', 'deauthorize'],
  onboarding: ['deauthorize'],
  registered: ['delete'],
  'wants-boot': ['deauthorize', 'delete'],
  deauthorized: ['delete'],
  running: ['reprovision', 'deauthorize', 'delete'],
  provisioned: ['reprovision', 'deauthorize', 'delete'],
  stranger: ['register', 'delete'],
};

const OF_WORKFLOWS: ReadonlySet<ActionName> = new Set(['retry', 'approve', 'resume', 'pause', 'cancel']);
/** Statuses whose first action is the way on for a person; in the others a row needs no button. */
const WAY_ON: ReadonlySet<ActionName> = new Set([
  'retry',
  'approve',
  'resume',
  'onboard',
  'provision',
  'reprovision',
  'register',
]);

/** What these rights allow to do with a node as it is now. */
export function possibleActions(
  { status, workflowId }: Pick<FloorNode, 'status' | 'workflowId'>,
  rights: readonly string[],
): ActionName[] {
  return BY_STATUS[status].filter(
    (name) => rights.includes(ACTIONS[name].right) && (workflowId !== null || !OF_WORKFLOWS.has(name)),
  );
}

/** The button of the row, where the node needs a hand or wants to come in. */
export function wayOn(node: FloorNode, rights: readonly string[]): ActionName | undefined {
  if (node.group !== 'needs-hand' && node.group !== 'strangers') return undefined;
  const [first] = possibleActions(node, rights);
  return first && WAY_ON.has(first) ? first : undefined;
}
