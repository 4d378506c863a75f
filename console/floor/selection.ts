import { signal } from '@preact/signals';
import type { FloorNode } from '../../protocol/floor.ts';
import { rights } from '../api/session.ts';
import { ACTIONS, type ActionName, possibleActions } from '../words/action-table.ts';

/** Ids of the rows that are ticked. */
export const selected = signal<ReadonlySet<string>>(new Set());

export function toggle(id: string): void {
  const next = new Set(selected.peek());
  if (!next.delete(id)) next.add(id);
  selected.value = next;
}

export function selectOnly(ids: Iterable<string>): void {
  selected.value = new Set(ids);
}

/** What can be done with at least one of them, with those it fits, in the order of the table of actions. */
export function actionsForMany(nodes: readonly FloorNode[]): { action: ActionName; nodes: FloorNode[] }[] {
  return (Object.keys(ACTIONS) as ActionName[])
    .filter((action) => action !== 'approve') // each disk plan is looked at by itself
    .map((action) => ({
      action,
      nodes: nodes.filter((node) => possibleActions(node, rights.value).includes(action)),
    }))
    .filter((each) => each.nodes.length > 0);
}
