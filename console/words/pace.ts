import { type FloorNode, SILENT_AFTER_SECONDS, type StageTime } from '../../protocol/floor.ts';
import { rate } from './amounts.ts';
import { countdown, duration, secondsBetween } from './time.ts';

/** Whether a running node does as it should. */
export type Pace = 'usual' | 'slow' | 'silent';

export interface PaceWords {
  pace: Pace;
  /** "412 MB/s · 0:21 left", "usually 40 s, now 2 min", "no word for 1 min 12 s" */
  text: string;
}

/** A stage counts as known after this many runs: the first machine of a morning is no measure. */
const RUNS_TO_JUDGE = 3;
/** A stage of two seconds that takes five is late by the numbers, and of no interest to anybody. */
const LATE_SECONDS = 15;

/** How it goes with a node in a running stage, in words. Silence outweighs slowness: a bar that does not move says nothing. */
export function paceOf(node: FloorNode, usual: StageTime | undefined, nowMs: number): PaceWords {
  const silence = node.heardAt === null ? 0 : secondsBetween(node.heardAt, nowMs);
  if (node.stage !== 'first-boot' && silence > SILENT_AFTER_SECONDS)
    return { pace: 'silent', text: `no word for ${duration(silence)}` };
  const elapsed = secondsBetween(node.since, nowMs);
  if (
    usual &&
    usual.runs >= RUNS_TO_JUDGE &&
    elapsed > Math.max(usual.p95Seconds, usual.medianSeconds + LATE_SECONDS)
  )
    return { pace: 'slow', text: `usually ${duration(usual.medianSeconds)}, now ${duration(elapsed)}` };
  const left = node.secondsLeft === null ? undefined : Math.max(0, node.secondsLeft - silence);
  const facts = [
    node.bytesPerSecond ? rate(node.bytesPerSecond) : undefined,
    left === undefined
      ? usual && usual.runs >= RUNS_TO_JUDGE
        ? `${countdown(elapsed)} (usually ${countdown(usual.medianSeconds)})`
        : countdown(elapsed)
      : `${countdown(left)} left`,
  ];
  return { pace: 'usual', text: facts.filter((fact) => fact !== undefined).join(' · ') };
}

export function usualTime(
  times: readonly StageTime[],
  { profile, stage }: Pick<FloorNode, 'profile' | 'stage'>,
): StageTime | undefined {
  return times.find((time) => time.profile === profile && time.stage === stage);
}
