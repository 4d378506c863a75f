import { FLOOR_GROUPS, type FloorGroup, type FloorNode } from '../../protocol/floor.ts';

/** The rows of each group, by id, from the top. */
export type Order = Readonly<Record<FloorGroup, readonly string[]>>;

export const EMPTY_ORDER: Order = {
  'needs-hand': [],
  running: [],
  waiting: [],
  done: [],
  strangers: [],
};

/** How a floor that is opened is sorted: who waits longest for a hand; who is nearest to done; who was done last. */
const FIRST_ORDER: Record<FloorGroup, (a: FloorNode, b: FloorNode) => number> = {
  'needs-hand': (a, b) => compare(a.since, b.since),
  running: (a, b) => progressOf(b) - progressOf(a) || compare(a.name, b.name),
  waiting: (a, b) => compare(a.place ?? '~', b.place ?? '~') || compare(a.name, b.name),
  done: (a, b) => compare(b.since, a.since),
  strangers: (a, b) => compare(b.since, a.since),
};

export function firstOrder(nodes: Iterable<FloorNode>): Order {
  const order: Record<FloorGroup, FloorNode[]> = {
    'needs-hand': [],
    running: [],
    waiting: [],
    done: [],
    strangers: [],
  };
  for (const node of nodes) order[node.group].push(node);
  return Object.fromEntries(
    FLOOR_GROUPS.map((group) => [group, order[group].sort(FIRST_ORDER[group]).map(({ id }) => id)]),
  ) as Record<FloorGroup, string[]>;
}

/**
 * The order after some nodes have changed. A row stays where it is as long as it stays in its group, so that nothing jumps
 * under a finger; one that comes into a group comes to its end, or to its top where the newest is what one looks for.
 */
export function nextOrder(order: Order, moves: ReadonlyMap<string, FloorGroup | null>): Order {
  if (moves.size === 0) return order;
  return Object.fromEntries(
    FLOOR_GROUPS.map((group) => {
      const stays = order[group].filter((id) => !moves.has(id) || moves.get(id) === group);
      const known = new Set(stays);
      const comes = [...moves].filter(([id, to]) => to === group && !known.has(id)).map(([id]) => id);
      if (comes.length === 0 && stays.length === order[group].length) return [group, order[group]];
      const newestFirst = group === 'done' || group === 'strangers';
      return [group, newestFirst ? [...comes.reverse(), ...stays] : [...stays, ...comes]];
    }),
  ) as Record<FloorGroup, readonly string[]>;
}

function progressOf({ stage, stageIndex, stageCount, percent }: FloorNode): number {
  if (stage === 'first-boot') return 1;
  return stageCount ? ((stageIndex ?? 0) + (percent ?? 0) / 100) / stageCount : 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
