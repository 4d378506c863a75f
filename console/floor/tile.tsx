import { type Signal, useComputed } from '@preact/signals';
import type { FloorNode } from '../../protocol/floor.ts';
import { nowMs } from '../live/clock.ts';
import { summary } from '../live/floor-state.ts';
import { GROUP_NAMES, Shape } from '../parts/shapes.tsx';
import { lastSix } from '../words/node-words.ts';
import { paceOf, usualTime } from '../words/pace.ts';
import { plainText } from '../words/plain-text.ts';
import { ProgressBar, stageWords } from './progress-bar.tsx';

/** The same facts as in a row, for a screen on the wall. */
export function Tile({ of, isSmall }: { of: Signal<FloorNode>; isSmall: boolean }) {
  const node = of.value;
  const times = summary.value?.stageTimes ?? [];
  const pace = useComputed(() => paceOf(of.value, usualTime(times, of.value), nowMs.value));
  const words =
    node.group === 'needs-hand'
      ? (node.reason?.message ?? node.statusText)
      : node.group === 'running'
        ? stageWords(node)
        : node.statusText;
  return (
    <li class={`tile ${node.group}`}>
      <a href={`/nodes/${encodeURIComponent(node.id)}`}>
        <span class="place">
          <Shape group={node.group} />
          <span class="spoken">{GROUP_NAMES[node.group]}: </span>
          {plainText(node.place ?? '', 40) || '–'}
        </span>
        <span class="six">{lastSix(node)}</span>
        {!isSmall && <bdi class="name">{plainText(node.name, 120)}</bdi>}
        {!isSmall && <bdi class="words">{plainText(words, 120)}</bdi>}
      </a>
      {node.group === 'running' && <ProgressBar node={node} times={times} pace={pace.value.pace} />}
    </li>
  );
}
