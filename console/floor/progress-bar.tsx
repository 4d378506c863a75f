import type { FloorNode, StageTime } from '../../protocol/floor.ts';
import { nodeTitle } from '../words/node-words.ts';
import type { Pace } from '../words/pace.ts';
import { plainText } from '../words/plain-text.ts';
import { percentOf, segmentsOf } from '../words/stages.ts';

interface ProgressBarProps {
  node: FloorNode;
  times: readonly StageTime[];
  pace: Pace;
}

/** One bar per node: its stages as pieces, the current one filling. */
export function ProgressBar({ node, times, pace }: ProgressBarProps) {
  const segments = segmentsOf(node, times);
  if (segments.length === 0) return null;
  const percent = percentOf(segments);
  const state = node.group === 'needs-hand' ? 'stuck' : pace;
  return (
    <div
      class={`bar ${state}`}
      role="progressbar"
      aria-label={`Progress of ${nodeTitle(node)}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={`${percent} percent, ${stageWords(node)}`}
    >
      {segments.map(({ weight, filled, isCurrent }, index) => (
        <span key={index} class={isCurrent ? 'piece current' : 'piece'} style={{ flexGrow: weight }}>
          <span class="fill" style={{ width: `${filled * 100}%` }} />
        </span>
      ))}
    </div>
  );
}

/** "writing the image 61 %" */
export function stageWords({ doing, stage, percent }: FloorNode): string {
  const what = plainText(doing ?? (stage === 'first-boot' ? 'first boot' : (stage ?? '')), 80);
  return percent === null ? what : `${what} ${Math.floor(percent)} %`;
}
