import type { Command } from 'commander';
import type { FloorNode, FloorPage } from '../../protocol/floor.ts';
import { formatBytes } from '../../system/format-bytes.ts';
import type { ConnectionOptions, ServerConnection } from '../server-connection.ts';
import type { Column } from '../table.ts';
import { silenceOf } from './silence.ts';

/** Which nodes are meant; with none of them all are. */
export interface NodeFilters {
  status?: string;
  group?: string;
  profile?: string;
  site?: string;
  search?: string;
}

export type ListOptions = ConnectionOptions & NodeFilters & { sort?: string };

/** As many as the server gives at once. */
const PAGE_NODES = 1000;

export const NODE_COLUMNS: Column<FloorNode>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['SERIAL', ({ serial }) => serial],
  ['MAC', ({ macs }) => macs[0]],
  ['PROFILE', ({ profile }) => profile],
  ['STATUS', (node) => [node.statusText, progressLine(node)].filter(Boolean).join(' · ')],
];

export function withNodeFilters(command: Command): Command {
  return command
    .option('--status <status>', 'only those with this status, or several: failed,silent')
    .option('--group <group>', 'only this group: needs-hand, running, waiting, done or strangers')
    .option('--profile <profile>', 'only those with this profile')
    .option('--site <site>', 'only those of this site')
    .option('--search <text>', 'only those with this in their name, serial number, MAC, UUID, place or site');
}

export function isFiltered({ status, group, profile, site, search }: NodeFilters): boolean {
  return [status, group, profile, site, search].some((filter) => filter !== undefined);
}

/** Every node that fits, page by page. */
export async function listNodes(
  connection: ServerConnection,
  options: NodeFilters & { sort?: string },
): Promise<FloorNode[]> {
  const { status, group, profile, site, search: q, sort } = options;
  const wanted = Object.entries({ status, group, profile, site, q, sort, limit: String(PAGE_NODES) });
  const query = new URLSearchParams(
    wanted.filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const nodes: FloorNode[] = [];
  for (let isLast = false; !isLast; ) {
    const page = await connection.call<FloorPage>('GET', `/api/v1/nodes?${query}`);
    nodes.push(...page.nodes);
    isLast = page.cursor === null;
    query.set('cursor', page.cursor ?? '');
  }
  return nodes;
}

/** How far a node is in what it does, and whether it has gone silent. */
export function progressLine(node: FloorNode, nowMs = Date.now()): string | undefined {
  if (node.status === 'silent')
    return node.heardAt === null ? undefined : silenceOf(Date.parse(node.heardAt), nowMs);
  if (node.status !== 'provisioning' || node.stage === null) return undefined;
  const { doing, percent, secondsLeft, bytesPerSecond, heardAt } = node;
  return (
    [
      percent === null ? undefined : `${doing} ${percent} %`,
      secondsLeft === null ? undefined : `${secondsLeft} s left`,
      bytesPerSecond === null ? undefined : `${formatBytes(bytesPerSecond)}/s`,
      heardAt === null ? undefined : silenceOf(Date.parse(heardAt), nowMs),
    ]
      .filter(Boolean)
      .join(' · ') || undefined
  );
}
