import type { FloorGroup } from '../../protocol/floor.ts';

/** A group has a shape beside its color, for eyes and screens that show no color. */
const SHAPES: Readonly<Record<FloorGroup, string>> = {
  'needs-hand': '▲',
  running: '●',
  waiting: '○',
  done: '✓',
  strangers: '?',
};

export const GROUP_NAMES: Readonly<Record<FloorGroup, string>> = {
  'needs-hand': 'Needs a hand',
  running: 'Running',
  waiting: 'Waiting',
  done: 'Done',
  strangers: 'Strangers',
};

export function Shape({ group }: { group: FloorGroup }) {
  return (
    <span class={`shape ${group}`} aria-hidden="true">
      {SHAPES[group]}
    </span>
  );
}
