import type { ShiftFigures, SlowStage } from '../../protocol/shift-figures.ts';
import { FIRST_BOOT } from '../floor/stage.ts';
import { median } from '../floor/stage-times.ts';
import { type Instance, unfinishedAgents } from '../nodes/instance.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';

export type { ShiftFigures } from '../../protocol/shift-figures.ts';

export interface ShiftWindow {
  since: string;
  until: string;
}

/**
 * The figures of a shift. A node counts once, however often it was tried: it is done when its system reported in this time, and failed
 * when its last try ended badly, it came back without a report, or its agents failed. First pass: done, with nothing begun anew and no other try.
 */
export function decideShift(
  installs: readonly StoredWorkflow[],
  instances: readonly Instance[],
  window: ShiftWindow,
): ShiftFigures {
  const isInside = (time: string | null) => time !== null && time >= window.since && time <= window.until;
  const done = new Map(
    instances
      .filter((one) => isInside(one.firstBootAt) && !unfinishedAgents(one))
      .map((one) => [one.hostId as string, one]),
  );
  const ended = installs.filter(({ progress }) => isInside(progress.finishedAt));
  const fellBack = instances.filter((one) => {
    const agents = unfinishedAgents(one);
    const cameBack = one.fallbacks > 0 && isInside(one.provisioningStatus.at);
    return cameBack || (agents?.state === 'failed' && isInside(agents.at));
  });
  const stumbled = new Set<string>([
    ...ended.filter(hasStumbled).map(({ definition }) => definition.hostId),
    ...fellBack.map(({ hostId }) => hostId),
  ]);
  const hasFailed = (hostId: string) =>
    fellBack.some((one) => one.hostId === hostId) ||
    ended.findLast(({ definition }) => definition.hostId === hostId)?.progress.state !== 'SUCCESS';
  const failed = [...stumbled].filter((hostId) => !done.has(hostId) && hasFailed(hostId));
  const firstPass = [...done.keys()].filter((hostId) => !stumbled.has(hostId));
  const hours = (Date.parse(window.until) - Date.parse(window.since)) / 3_600_000;
  const outOf = done.size + failed.length;
  return {
    ...window,
    done: done.size,
    failed: failed.length,
    firstPass: firstPass.length,
    firstPassYield: outOf === 0 ? null : firstPass.length / outOf,
    perHour: hours > 0 ? done.size / hours : 0,
    slowestStage: slowestStage(ended, done),
  };
}

function hasStumbled({ progress }: StoredWorkflow): boolean {
  return progress.state !== 'SUCCESS' || progress.actions.some(({ attempt }) => attempt > 1);
}

/** The stage with the largest median among the tries that went well. */
function slowestStage(
  ended: readonly StoredWorkflow[],
  done: ReadonlyMap<string, Instance>,
): SlowStage | null {
  const seconds = new Map<string, number[]>();
  const add = (stage: string, took: number) => seconds.set(stage, [...(seconds.get(stage) ?? []), took]);
  for (const { definition, progress } of ended) {
    if (progress.state !== 'SUCCESS' || !progress.finishedAt) continue;
    for (const [index, { name }] of definition.actions.entries())
      add(name, progress.actions[index]?.seconds ?? 0);
    const firstBootAt = done.get(definition.hostId)?.firstBootAt;
    if (firstBootAt)
      add(FIRST_BOOT, Math.round((Date.parse(firstBootAt) - Date.parse(progress.finishedAt)) / 1000));
  }
  const stages = [...seconds].map(([stage, took]) => ({ stage, medianSeconds: median(took) }));
  return stages.reduce<SlowStage | null>(
    (slowest, one) => (slowest && slowest.medianSeconds >= one.medianSeconds ? slowest : one),
    null,
  );
}
