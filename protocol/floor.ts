/**
 * The floor: a batch of machines as one person sees it. The server, its page and the command line share these words, so
 * this file imports nothing: it goes into the page as it is.
 */

/** The five counters of the page, in the order in which they want attention. */
export const FLOOR_GROUPS = ['needs-hand', 'running', 'waiting', 'done', 'strangers'] as const;
export type FloorGroup = (typeof FLOOR_GROUPS)[number];

interface StatusMeaning {
  group: FloorGroup;
  /** Two or three words for a row. */
  label: string;
  meaning: string;
  /** What a person does about it. */
  next: string;
}

/** Every status a node can have. They are an API: added, never renamed. docs/reference/node-statuses.md is made from this table. */
export const NODE_STATUSES = {
  failed: {
    group: 'needs-hand',
    label: 'Failed',
    meaning: 'An action of its workflow failed or ran out of time, or no workflow could be made for it.',
    next: 'Read the reason, correct what it names, and retry.',
  },
  'wants-approval': {
    group: 'needs-hand',
    label: 'Wants approval',
    meaning: 'The site wants to be asked before a disk is destroyed, and the plan for this node waits.',
    next: 'Look at the disk plan and approve it.',
  },
  'first-boot-failed': {
    group: 'needs-hand',
    label: 'First boot failed',
    meaning:
      'The disk is written, but the installed system did not report; the node is back in the Micro-OS.',
    next: 'Read the reason; correct the profile and re-provision.',
  },
  'first-boot-late': {
    group: 'needs-hand',
    label: 'First boot late',
    meaning: 'The disk is written, and the installed system should have reported by now.',
    next: 'Look at its screen: does it start from its disk, and does it reach this server?',
  },
  'agents-failed': {
    group: 'needs-hand',
    label: 'Agents failed',
    meaning: 'The installed system has booted, but its installer or one of its agents does not run.',
    next: 'Read the reason; the node tries again by itself. Correct the profile and re-provision if it cannot succeed.',
  },
  silent: {
    group: 'needs-hand',
    label: 'No word',
    meaning: 'It was at work and has not been heard of for longer than its stage may be silent.',
    next: 'Check power and network cable, then switch it on again: it goes on where it was.',
  },
  mismatch: {
    group: 'needs-hand',
    label: 'Not as registered',
    meaning: 'The machine that came in has other details than its registration.',
    next: 'Correct the registration, or find the right machine.',
  },
  'wants-onboard': {
    group: 'needs-hand',
    label: 'Wants to come in',
    meaning: 'It is registered and has knocked, and somebody has to let it in.',
    next: 'Say "onboard".',
  },
  'wants-profile': {
    group: 'needs-hand',
    label: 'Wants a profile',
    meaning: 'It is in, and nothing says what to install on it.',
    next: 'Choose its profile.',
  },
  paused: {
    group: 'needs-hand',
    label: 'Paused',
    meaning: 'Somebody paused its workflow.',
    next: 'Resume or cancel the workflow.',
  },
  canceled: {
    group: 'needs-hand',
    label: 'Canceled',
    meaning: 'Somebody canceled its workflow before it was done.',
    next: 'Retry, re-provision or delete it.',
  },
  provisioning: {
    group: 'running',
    label: 'Provisioning',
    meaning: 'Its workflow runs.',
    next: 'Nothing.',
  },
  'first-boot': {
    group: 'running',
    label: 'First boot',
    meaning: 'The disk is written; the installed system has not reported yet.',
    next: 'Nothing.',
  },
  'installing-agents': {
    group: 'running',
    label: 'Installing agents',
    meaning: 'The installed system has booted; its installer works, or its agents are being started.',
    next: 'Nothing.',
  },
  onboarding: {
    group: 'running',
    label: 'Coming in',
    meaning: 'It has knocked and is being let in.',
    next: 'Nothing.',
  },
  registered: {
    group: 'waiting',
    label: 'Registered',
    meaning: 'It is registered and has not been heard of.',
    next: 'Connect it, and boot it from the network.',
  },
  'wants-boot': {
    group: 'waiting',
    label: 'Wants to boot',
    meaning: 'Its disk is to be written anew as soon as it boots from the network.',
    next: 'Restart it from the network.',
  },
  deauthorized: {
    group: 'waiting',
    label: 'Deauthorized',
    meaning: 'Its trust was taken away: it gets nothing more.',
    next: 'Delete it, or register it again.',
  },
  running: {
    group: 'done',
    label: 'Running',
    meaning: 'The installed system has booted and reported, and its agents run if its profile has any.',
    next: 'Nothing.',
  },
  provisioned: {
    group: 'done',
    label: 'Provisioned',
    meaning:
      'The disk is written, and its system does not report (a standalone node, or a workflow started by hand).',
    next: 'Nothing.',
  },
  stranger: {
    group: 'strangers',
    label: 'Stranger',
    meaning: 'A machine that nobody registered has shown itself.',
    next: 'Register it, or let it be.',
  },
} as const satisfies Record<string, StatusMeaning>;

export type NodeStatus = keyof typeof NODE_STATUSES;

export function groupOf(status: NodeStatus): FloorGroup {
  return NODE_STATUSES[status].group;
}

/** Why a node needs a hand. */
export interface FloorReason {
  /** One of docs/reference/errors.md, where the reason has one. */
  code: string | null;
  /** One sentence. */
  message: string;
  /** What to do next. */
  next: string;
}

/** One row of the floor. Times are ISO 8601; what is not known is null. */
export interface FloorNode {
  id: string;
  name: string;
  /** Where it stands: its metadata `place`. */
  place: string | null;
  site: string | null;
  serial: string | null;
  uuid: string | null;
  /** The boot MAC first, then those of its other network cards. */
  macs: string[];
  /** What it gets, or has. */
  profile: string | null;
  group: FloorGroup;
  status: NodeStatus;
  /** One line for a person: the same as in "kindling node list". */
  statusText: string;
  /** The action it is at, `first-boot` after the last one; null while it is at none. */
  stage: string | null;
  /** What it does right now, for a person: "writing the image". */
  doing: string | null;
  /** Which of its stages this is, from 0, and how many there are; the first boot is not counted. */
  stageIndex: number | null;
  stageCount: number | null;
  /** 0–100 of this stage, where the stage knows. */
  percent: number | null;
  bytesPerSecond: number | null;
  /** Of this stage, as the node says. */
  secondsLeft: number | null;
  /** Since when it has this status, or is in this stage. */
  since: string;
  /** When it last said anything. After SILENT_AFTER_SECONDS a page says "no word for …". */
  heardAt: string | null;
  reason: FloorReason | null;
  /** For "retry", "approve" and "cancel". */
  workflowId: string | null;
  /** Hash of the disk plan that waits for approval. */
  plan: string | null;
}

/** A node in a running stage that says nothing for this long is shown as silent. Agents with something to say say it every ten. */
export const SILENT_AFTER_SECONDS = 30;

/** The order of GET /api/v1/nodes: `floor` is needs a hand first, then running, waiting, done, strangers. */
export const FLOOR_SORTS = ['floor', 'name', 'place', 'since', 'heard', 'created'] as const;
export type FloorSort = (typeof FLOOR_SORTS)[number];

/** The answer of GET /api/v1/nodes. */
export interface FloorPage {
  nodes: FloorNode[];
  /** How many fit the filters, on all pages. */
  total: number;
  /** For the next page; null on the last one. */
  cursor: string | null;
}

/** How long a stage usually takes with this profile. */
export interface StageTime {
  profile: string;
  stage: string;
  medianSeconds: number;
  p95Seconds: number;
  /** Of how many runs. */
  runs: number;
}

/** The answer of GET /api/v1/floor: the first line of the page. */
export interface FloorSummary {
  counts: Record<FloorGroup, number>;
  /** Statuses that no node has are left out. */
  statuses: Partial<Record<NodeStatus, number>>;
  /** Until the last one that runs is done, if all goes as usual; null where nothing runs or nothing is known yet. */
  secondsLeft: number | null;
  /** How many were done in the last hour. */
  doneLastHour: number;
  stageTimes: StageTime[];
  profiles: string[];
  sites: string[];
  /** The id of the last event that is part of this answer: where to begin with GET /api/v1/events?after=… */
  eventId: number;
}

/** An event `floor` of GET /api/v1/events?types=floor: a row as it is now. */
export interface FloorChange {
  type: 'floor';
  nodeId: string;
  /** Null: the node is gone. */
  node: FloorNode | null;
  /** The group it was in before; null: it is new. */
  was: FloorGroup | null;
}
