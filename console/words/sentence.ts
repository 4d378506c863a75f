import type { FloorGroup } from '../../protocol/floor.ts';
import { many } from './amounts.ts';
import { duration } from './time.ts';

export interface SentencePart {
  group: FloorGroup;
  text: string;
}

/** The floor in one line. Each part is a filter; what there is none of is left out. */
export function floorSentence(
  counts: Readonly<Record<FloorGroup, number>>,
  secondsLeft: number | null,
): SentencePart[] {
  const total = counts['needs-hand'] + counts.running + counts.waiting + counts.done;
  const left =
    secondsLeft === null || counts.running === 0 ? '' : `, about ${duration(roundUp(secondsLeft))} left`;
  const parts: (SentencePart & { count: number })[] = [
    { group: 'done', count: total, text: `${counts.done} of ${total} done` },
    {
      group: 'needs-hand',
      count: counts['needs-hand'],
      text: `${counts['needs-hand']} ${counts['needs-hand'] === 1 ? 'needs' : 'need'} a hand`,
    },
    { group: 'running', count: counts.running, text: `${counts.running} running${left}` },
    { group: 'waiting', count: counts.waiting, text: `${counts.waiting} waiting` },
    { group: 'strangers', count: counts.strangers, text: many(counts.strangers, 'stranger') },
  ];
  return parts.filter(({ count }) => count > 0).map(({ group, text }) => ({ group, text }));
}

/** Nobody believes "8 min 43 s" of a whole floor. */
function roundUp(seconds: number): number {
  return seconds < 60 ? Math.ceil(seconds / 10) * 10 : Math.ceil(seconds / 60) * 60;
}
