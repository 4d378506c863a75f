import { FLOOR_GROUPS, type FloorGroup, type FloorNode, type NodeStatus } from '../../protocol/floor.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { Store, StoreValue } from '../store/store.ts';
import type { Projected } from './floor-node.ts';
import { decodeCursor, encodeCursor } from './list-cursor.ts';
import type { ListQuery } from './list-query.ts';
import { containing, wordsOf } from './list-words.ts';

interface Row {
  document: string;
}

const SORT_COLUMNS = {
  floor: 'floor_key',
  name: 'name_key',
  place: 'place_key',
  since: 'since',
  heard: 'heard_key',
  created: 'created_key',
} as const;

const COLUMNS = [
  'id',
  'status',
  'node_group',
  'profile',
  'site',
  'stage',
  'reason_code',
  'since',
  'changes_at',
  'floor_key',
  'name_key',
  'place_key',
  'heard_key',
  'created_key',
  'words',
  'document',
];
const SAVE = `INSERT INTO floor (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (id) DO UPDATE SET ${COLUMNS.slice(1)
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')}`;

/** The rows of the floor, with what lists filter and sort by in columns. */
export class FloorTable {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async get(id: HostId): Promise<FloorNode | undefined> {
    const row = await this.#store.get<Row>('SELECT document FROM floor WHERE id = ?', id);
    return row && (JSON.parse(row.document) as FloorNode);
  }

  async save({ node, changesAtMs }: Projected, createdAt: string): Promise<void> {
    await this.#store.run(
      SAVE,
      node.id,
      node.status,
      node.group,
      node.profile,
      node.site,
      node.stage,
      node.reason?.code ?? null,
      node.since,
      changesAtMs,
      floorKey(node),
      node.name.toLowerCase(),
      node.place?.toLowerCase() ?? NO_PLACE,
      node.heardAt ?? '',
      createdAt,
      wordsOf(node),
      JSON.stringify(node),
    );
  }

  /** One page of the nodes that fit. */
  async list(query: ListQuery): Promise<{ nodes: FloorNode[]; total: number; cursor: string | null }> {
    const filter = filterOf(query);
    const counted = await this.#store.get<{ count: number }>(
      `SELECT count(*) AS count FROM floor${where(filter.sql)}`,
      ...filter.values,
    );
    const column = SORT_COLUMNS[query.sort];
    const [direction, beyond] = query.isDescending ? ['DESC', '<'] : ['ASC', '>'];
    const from = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const after = from ? [`(${column} ${beyond} ? OR (${column} = ? AND id ${beyond} ?))`] : [];
    const rows = await this.#store.all<Row & { sort_key: string; id: string }>(
      `SELECT id, ${column} AS sort_key, document FROM floor${where([...filter.sql, ...after])}
       ORDER BY ${column} ${direction}, id ${direction} LIMIT ?`,
      ...filter.values,
      ...(from ? [from.key, from.key, from.id] : []),
      query.limit + 1,
    );
    const page = rows.slice(0, query.limit);
    const last = page.at(-1);
    return {
      nodes: page.map(({ document }) => JSON.parse(document) as FloorNode),
      total: Number(counted?.count ?? 0),
      cursor: rows.length > query.limit && last ? encodeCursor({ key: last.sort_key, id: last.id }) : null,
    };
  }

  /** The group of every node. */
  groups(): Promise<{ id: HostId; group: FloorGroup }[]> {
    return this.#store.all('SELECT id, node_group AS "group" FROM floor');
  }

  async countByStatus(): Promise<{ group: FloorGroup; status: NodeStatus; count: number }[]> {
    const rows = await this.#store.all<{ node_group: FloorGroup; status: NodeStatus; count: number }>(
      'SELECT node_group, status, count(*) AS count FROM floor GROUP BY node_group, status',
    );
    return rows.map(({ node_group, status, count }) => ({ group: node_group, status, count: Number(count) }));
  }

  /** Nodes at work by stage. */
  countByStage(): Promise<{ value: string; count: number }[]> {
    return this.#countBy('stage', 'running');
  }

  /** Nodes that need a hand by the code that says why. */
  countByReason(): Promise<{ value: string; count: number }[]> {
    return this.#countBy('reason_code', 'needs-hand');
  }

  /** Since when the node that has a status longest has had it. */
  oldestByStatus(): Promise<{ status: NodeStatus; since: string }[]> {
    return this.#store.all('SELECT status, min(since) AS since FROM floor GROUP BY status');
  }

  async doneSince(time: string): Promise<number> {
    const row = await this.#store.get<{ count: number }>(
      "SELECT count(*) AS count FROM floor WHERE node_group = 'done' AND since >= ?",
      time,
    );
    return Number(row?.count ?? 0);
  }

  async inGroup(group: FloorGroup): Promise<FloorNode[]> {
    const rows = await this.#store.all<Row>('SELECT document FROM floor WHERE node_group = ?', group);
    return rows.map(({ document }) => JSON.parse(document) as FloorNode);
  }

  /** Every value of a column that some node has, in order. */
  async valuesOf(column: 'profile' | 'site'): Promise<string[]> {
    const rows = await this.#store.all<{ value: string }>(
      `SELECT DISTINCT ${column} AS value FROM floor WHERE ${column} IS NOT NULL ORDER BY ${column}`,
    );
    return rows.map(({ value }) => value);
  }

  async #countBy(
    column: 'stage' | 'reason_code',
    group: FloorGroup,
  ): Promise<{ value: string; count: number }[]> {
    const rows = await this.#store.all<{ value: string; count: number }>(
      `SELECT ${column} AS value, count(*) AS count FROM floor
       WHERE node_group = ? AND ${column} IS NOT NULL GROUP BY ${column} ORDER BY ${column}`,
      group,
    );
    return rows.map(({ value, count }) => ({ value, count: Number(count) }));
  }

  /** Nodes whose row is to change by the clock alone. */
  async due(nowMs: number): Promise<HostId[]> {
    const rows = await this.#store.all<{ id: HostId }>('SELECT id FROM floor WHERE changes_at <= ?', nowMs);
    return rows.map(({ id }) => id);
  }
}

/** Nodes without a place come after those that have one. */
const NO_PLACE = '\u{10ffff}';
/** The largest time there is, in ms since 1970. */
const LAST_MS = 8.64e15;

/**
 * Trouble first; within a group what is in its state longest, but of what is done the newest. Since neither moves while a node stays
 * in its group, rows do not jump under a finger.
 */
function floorKey({ group, since }: FloorNode): string {
  const sinceMs = Date.parse(since);
  const order = group === 'done' || group === 'strangers' ? LAST_MS - sinceMs : sinceMs;
  return `${FLOOR_GROUPS.indexOf(group)}${String(order).padStart(16, '0')}`;
}

function filterOf({ status, group, profile, site, q }: ListQuery): { sql: string[]; values: StoreValue[] } {
  const sql: string[] = [];
  const values: StoreValue[] = [];
  const add = (text: string, ...given: StoreValue[]) => {
    sql.push(text);
    values.push(...given);
  };
  if (status) add(`status IN (${status.map(() => '?').join(', ')})`, ...status);
  if (group) add(`node_group IN (${group.map(() => '?').join(', ')})`, ...group);
  if (profile !== undefined) add('profile = ?', profile);
  if (site !== undefined) add('site = ?', site);
  if (q !== undefined) {
    for (const pattern of containing(q)) add("words LIKE ? ESCAPE '\\'", pattern);
  }
  return { sql, values };
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
}
