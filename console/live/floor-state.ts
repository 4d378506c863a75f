import { batch, computed, type Signal, signal } from '@preact/signals';
import {
  FLOOR_GROUPS,
  type FloorChange,
  type FloorGroup,
  type FloorNode,
  type FloorSummary,
} from '../../protocol/floor.ts';
import { EMPTY_ORDER, firstOrder, nextOrder, type Order } from './order.ts';

/** How the page is connected to the server. */
export type Link =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'away'; sinceMs: number }
  | { kind: 'refused'; why: string };

/** A row that went from one group to another. The page says it in words, because the row is then elsewhere. */
export interface Move {
  node: FloorNode;
  from: FloorGroup | null;
  atMs: number;
}

export const link = signal<Link>({ kind: 'connecting' });
export const summary = signal<FloorSummary | undefined>(undefined);
export const order = signal<Order>(EMPTY_ORDER);
export const lastMove = signal<Move | undefined>(undefined);
/** False until the first list is here: an empty floor and one that has not come yet are different things. */
export const isLoaded = signal(false);

const nodes = new Map<string, Signal<FloorNode>>();

export const counts = computed(
  () =>
    Object.fromEntries(FLOOR_GROUPS.map((group) => [group, order.value[group].length])) as Record<
      FloorGroup,
      number
    >,
);

/** One signal per row: a change draws that row and no other. */
export function nodeSignal(id: string): Signal<FloorNode> | undefined {
  return nodes.get(id);
}

/** The whole floor as the server has it now: at the beginning, and after every time it was away. */
export function replaceAll(fresh: readonly FloorNode[]): void {
  batch(() => {
    if (!isLoaded.peek()) {
      for (const node of fresh) nodes.set(node.id, signal(node));
      order.value = firstOrder(fresh);
      isLoaded.value = true;
      return;
    }
    const ids = new Set(fresh.map(({ id }) => id));
    const gone = [...nodes.keys()].filter((id) => !ids.has(id));
    applyChanges([
      ...gone.map((nodeId): FloorChange => ({ type: 'floor', nodeId, node: null, was: null })),
      ...fresh.map((node): FloorChange => ({ type: 'floor', nodeId: node.id, node, was: node.group })),
    ]);
  });
}

/** What happened since, in order. */
export function applyChanges(changes: readonly FloorChange[]): void {
  const moves = new Map<string, FloorGroup | null>();
  batch(() => {
    for (const { nodeId, node } of changes) {
      const known = nodes.get(nodeId);
      const from = known?.peek().group ?? null;
      if (!node) {
        nodes.delete(nodeId);
        moves.set(nodeId, null);
        continue;
      }
      if (known) known.value = node;
      else nodes.set(nodeId, signal(node));
      if (from === node.group) continue;
      moves.set(nodeId, node.group);
      lastMove.value = { node, from, atMs: Date.now() };
    }
    order.value = nextOrder(order.peek(), moves);
  });
}
