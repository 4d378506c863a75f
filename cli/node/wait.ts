import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import { type FloorNode, NODE_STATUSES } from '../../protocol/floor.ts';
import { type ConnectionOptions, ServerConnection } from '../server-connection.ts';
import { printable } from '../table.ts';
import { isFiltered, listNodes, type NodeFilters } from './list.ts';
import { nodePath } from './node-path.ts';
import { deadlineIn } from './watch.ts';

export interface WaitOptions extends ConnectionOptions, NodeFilters {
  all?: boolean;
  until: string;
  timeout?: string;
}

/**
 * Waits for many nodes at once, and ends when there is nothing to wait for: every node has arrived, or stands still until somebody
 * does something. A node that stands still fails the command, with its reason.
 */
export async function waitForNodes(names: readonly string[], options: WaitOptions): Promise<void> {
  const status = statusOf(options.until);
  refuseUnclear(names, options);
  const connection = new ServerConnection(options);
  const late = options.timeout === undefined ? undefined : deadlineIn(options.timeout);
  const settled = new AbortController();
  const nodes = new Map<string, FloorNode>();
  const told = new Map<string, string>();
  const take = (node: FloorNode) => {
    nodes.set(node.id, node);
    if (options.output !== 'table' || told.get(node.id) === node.status) return;
    told.set(node.id, node.status);
    console.log(printable(`${node.name}: ${NODE_STATUSES[node.status].label}`));
  };
  let isChosen = false;
  // Who is waited for is decided once: a node that changes no longer fits --status failed, and is waited for all the same.
  const look = async () => {
    const all = await listNodes(connection, isChosen ? {} : options);
    const ids = isChosen ? new Set(nodes.keys()) : await chooseNodes(connection, names, all);
    isChosen = true;
    nodes.clear();
    for (const node of all) if (ids.has(node.id)) take(node);
    if (isSettled(nodes, status)) settled.abort();
  };
  const events = connection.events('/api/v1/events?types=floor', {
    signal: AbortSignal.any([settled.signal, ...(late ? [late] : [])]),
    // Asked once per connection, when it listens already: what happened before, or between two connections, is in the answer.
    onOpen: look,
    onLost: (reason) => console.error(toErrorReport(reason).message),
  });
  for await (const { type, data } of events) {
    if (type === 'missed') await look();
    if (type !== 'floor') continue;
    const { nodeId, node } = data as { nodeId: string; node: FloorNode | null };
    if (!nodes.has(nodeId)) continue;
    if (node) take(node);
    else nodes.delete(nodeId);
    if (isSettled(nodes, status)) settled.abort();
  }
  tell([...nodes.values()], status, options, settled.signal.aborted);
}

type Status = keyof typeof NODE_STATUSES;

/** As in the list of statuses, or as a node shows it. */
function statusOf(until: string): Status {
  const wanted = until.toLowerCase();
  const found = Object.entries(NODE_STATUSES).find(
    ([status, { label }]) => status === wanted || label.toLowerCase() === wanted,
  );
  if (found) return found[0] as Status;
  throw new KindlingError('KND_USAGE', `there is no status "${until}"`, {
    hint: `There are ${Object.keys(NODE_STATUSES).join(', ')}.`,
  });
}

function refuseUnclear(names: readonly string[], { all, ...filters }: WaitOptions): void {
  const isMany = all === true || isFiltered(filters);
  if (names.length > 0 !== isMany) return;
  throw new KindlingError(
    'KND_USAGE',
    'say which nodes: their names, or --all, or a filter such as --profile',
  );
}

/** The ids of those that were named, or of all that were found. */
async function chooseNodes(
  connection: ServerConnection,
  names: readonly string[],
  found: readonly FloorNode[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set(found.map(({ id }) => id));
  const named = await Promise.all(
    names.map((name) => connection.call<{ id: string }>('GET', nodePath(name))),
  );
  return new Set(named.map(({ id }) => id));
}

function isSettled(nodes: ReadonlyMap<string, FloorNode>, wanted: Status): boolean {
  return [...nodes.values()].every(({ status, group }) => status === wanted || group === 'needs-hand');
}

function tell(nodes: readonly FloorNode[], wanted: Status, options: WaitOptions, isSettled: boolean): void {
  const missing = nodes.filter(({ status }) => status !== wanted);
  if (options.output === 'json') console.log(JSON.stringify(nodes, null, 2));
  if (nodes.length === 0) throw new KindlingError('KND_NODE_UNKNOWN', 'there is no node to wait for');
  const arrived = `${nodes.length - missing.length} of ${nodes.length} nodes are ${wanted}`;
  if (missing.length === 0) {
    if (options.output === 'table') console.log(arrived);
    return;
  }
  const reasons = missing.map(({ name, statusText, reason }) => `${name}: ${reason?.message ?? statusText}`);
  throw new KindlingError(
    isSettled ? 'KND_NODE_NEEDS_HAND' : 'KND_TIMEOUT',
    `${arrived}; ${reasons.join('; ')}`,
    { evidence: { nodes: missing.map(({ id }) => id) } },
  );
}
