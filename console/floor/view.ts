import { computed, signal } from '@preact/signals';
import type { FloorGroup, FloorNode } from '../../protocol/floor.ts';
import { nodeSignal, order } from '../live/floor-state.ts';
import { isLabelOf, matches } from '../words/node-words.ts';

/** What of the floor is on the screen. */
export const shownGroup = signal<FloorGroup | undefined>(undefined);
export const typed = signal('');
export const layout = signal<'rows' | 'tiles'>('rows');
/** Groups that a person opened or closed; the others are as they are at first. */
const folded = signal<ReadonlyMap<FloorGroup, boolean>>(new Map());

const FOLDED_AT_FIRST: ReadonlySet<FloorGroup> = new Set(['waiting', 'done']);

export function isFolded(group: FloorGroup): boolean {
  if (shownGroup.value === group || typed.value !== '') return false;
  return folded.value.get(group) ?? FOLDED_AT_FIRST.has(group);
}

export function fold(group: FloorGroup, now: boolean): void {
  folded.value = new Map(folded.peek()).set(group, now);
}

export function showGroup(group: FloorGroup | undefined): void {
  shownGroup.value = shownGroup.peek() === group ? undefined : group;
}

/** The rows of a group that fit what was typed, in their order. */
export function visibleIds(group: FloorGroup): readonly string[] {
  const ids = order.value[group];
  const text = typed.value.trim();
  if (text === '') return ids;
  return ids.filter((id) => {
    const node = nodeSignal(id)?.value;
    return node !== undefined && matches(node, text);
  });
}

/** Groups in the order in which they are shown: trouble first, strangers before those who only wait. */
export const SHOWN_ORDER: readonly FloorGroup[] = ['needs-hand', 'running', 'strangers', 'waiting', 'done'];

export const shownGroups = computed(() =>
  SHOWN_ORDER.filter((group) => shownGroup.value === undefined || shownGroup.value === group),
);

/** The machine whose label was scanned, if exactly one fits. */
export function machineOf(label: string): FloorNode | undefined {
  const nodes = SHOWN_ORDER.flatMap((group) => order.peek()[group])
    .map((id) => nodeSignal(id)?.peek())
    .filter((node) => node !== undefined);
  const exact = nodes.filter((node) => isLabelOf(node, label));
  if (exact.length > 0) return exact.length === 1 ? exact[0] : undefined;
  const near = nodes.filter((node) => matches(node, label));
  return near.length === 1 ? near[0] : undefined;
}
