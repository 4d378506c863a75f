import { type FloorNode, groupOf } from '../../protocol/floor.ts';
import type { Host } from '../nodes/host.ts';
import type { Instance } from '../nodes/instance.ts';
import { statusLine } from '../nodes/status-line.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import { judgeNode } from './node-verdict.ts';
import { heardAtOf, stageOf } from './stage.ts';

/** What a row is made of. */
export interface NodeFacts {
  host: Host;
  instance: Instance | undefined;
  /** The newest one. */
  workflow: StoredWorkflow | undefined;
  /** Those of its inventory, as far as it is known. */
  macs: readonly string[];
  /** How long its system may take to report. */
  firstBootMinutes: number;
}

export interface Projected {
  node: FloorNode;
  /** When the row changes by itself because nothing is heard, in ms since 1970. */
  changesAtMs: number | null;
}

/** What anybody may have sent is shown, not stored for ever. */
const MOST_CHARACTERS = 2000;

/** A node as the floor shows it at this moment. Pure: the same facts and time give the same row. */
export function floorNode(facts: NodeFacts, now: Date): Projected {
  const { host, instance, workflow, macs } = facts;
  const { status, since, reason, plan, hasStage, changesAtMs } = judgeNode(facts, now.getTime());
  const stage = hasStage ? stageOf(status, workflow) : NO_STAGE;
  const node: FloorNode = {
    id: host.id,
    name: host.name,
    place: host.metadata['place'] || null,
    site: host.site,
    serial: host.serial ?? host.reportedSerial,
    uuid: host.uuid,
    macs: [...new Set([host.mac, host.reportedMac?.toLowerCase(), ...macs].filter((mac) => !!mac))].filter(
      (mac) => typeof mac === 'string',
    ),
    profile: instance?.profile ?? host.profile,
    group: groupOf(status),
    status,
    statusText: clipped(statusLine(host, instance)),
    ...stage,
    since,
    heardAt: heardAtOf(host, workflow),
    reason: reason ? { ...reason, message: clipped(reason.message), next: clipped(reason.next) } : null,
    workflowId: workflow?.definition.id ?? null,
    plan,
  };
  return { node, changesAtMs };
}

const NO_STAGE = {
  stage: null,
  doing: null,
  stageIndex: null,
  stageCount: null,
  percent: null,
  bytesPerSecond: null,
  secondsLeft: null,
};

function clipped(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
}
