import { signal } from '@preact/signals';
import type { FloorNode } from '../../protocol/floor.ts';
import { type ActionDetails, act } from '../api/act.ts';
import { type ShownProblem, shownProblem } from '../parts/problem-text.tsx';
import { ACTIONS, type ActionName } from '../words/action-table.ts';

/** What a person has just asked of a node, and how it went, if it was refused. */
export type Pending = { kind: 'doing'; words: string } | { kind: 'refused'; problem: ShownProblem };

export const pending = signal<ReadonlyMap<string, Pending>>(new Map());

/** Asks the server for each node in turn. What is refused stays in its row until the next try. */
export async function ask(
  action: ActionName,
  nodes: readonly FloorNode[],
  details?: ActionDetails,
): Promise<void> {
  for (const node of nodes) set(node.id, { kind: 'doing', words: `${ACTIONS[action].doing}…` });
  for (const node of nodes) {
    try {
      await act(action, node, details);
      set(node.id, undefined);
    } catch (thrown) {
      set(node.id, { kind: 'refused', problem: shownProblem(thrown) });
    }
  }
}

function set(id: string, now: Pending | undefined): void {
  const next = new Map(pending.peek());
  if (now) next.set(id, now);
  else next.delete(id);
  pending.value = next;
}
