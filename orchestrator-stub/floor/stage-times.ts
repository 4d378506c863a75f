import type { FloorNode, StageTime } from '../../protocol/floor.ts';
import type { Seal } from '../seal/seal.ts';
import { DocumentTable } from '../store/document-table.ts';
import type { Store } from '../store/store.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import { FIRST_BOOT } from './stage.ts';

/** The last seconds of each stage, in the order of the stages. */
type Samples = Record<string, number[]>;

/** A profile that was changed shows its new times within a shift. */
const KEPT_RUNS = 100;

/** How long the stages of each profile took lately, from workflows that succeeded. One small document per profile. */
export class StageTimes {
  readonly #table: DocumentTable<{ profile: string; samples: Samples }>;

  constructor(store: Store, seal: Seal) {
    this.#table = new DocumentTable(store, 'stage_times', seal);
  }

  /** A workflow has succeeded. Its stages are the order from now on, and stages that it does not have are forgotten. */
  async addWorkflow(profile: string, { definition, progress }: StoredWorkflow): Promise<void> {
    const before = (await this.#table.get(profile))?.samples ?? {};
    const took = definition.actions.map(({ name }, index): [string, number] => [
      name,
      progress.actions[index]?.seconds ?? 0,
    ]);
    const samples = Object.fromEntries(took.map(([stage, seconds]) => [stage, kept(before[stage], seconds)]));
    const rest = before[FIRST_BOOT] ? { [FIRST_BOOT]: before[FIRST_BOOT] } : {};
    await this.#table.save(profile, { profile, samples: { ...samples, ...rest } });
  }

  async addFirstBoot(profile: string, seconds: number): Promise<void> {
    const samples = (await this.#table.get(profile))?.samples ?? {};
    const after = { ...samples, [FIRST_BOOT]: kept(samples[FIRST_BOOT], seconds) };
    await this.#table.save(profile, { profile, samples: after });
  }

  async list(): Promise<StageTime[]> {
    return (await this.#table.list()).flatMap(({ profile, samples }) =>
      Object.entries(samples).map(([stage, seconds]) => ({
        profile,
        stage,
        medianSeconds: median(seconds),
        p95Seconds: quantile(seconds, 0.95),
        runs: seconds.length,
      })),
    );
  }
}

function kept(before: readonly number[] | undefined, seconds: number): number[] {
  return [...(before ?? []), seconds].slice(-KEPT_RUNS);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The nearest rank: one of the values, never a made-up one. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** How long a node still takes if all goes as usual; undefined where nothing is known of its profile. */
export function usualSecondsLeft(
  node: FloorNode,
  times: readonly StageTime[],
  nowMs: number,
): number | undefined {
  const stages = times.filter(({ profile }) => profile === node.profile);
  const index = node.stage === null ? 0 : stages.findIndex(({ stage }) => stage === node.stage);
  const current = stages[index];
  if (!current) return undefined;
  const elapsed = node.stage === null ? 0 : (nowMs - Date.parse(node.since)) / 1000;
  const usual = Math.max(0, current.medianSeconds - elapsed);
  const later = stages.slice(index + 1).reduce((sum, { medianSeconds }) => sum + medianSeconds, 0);
  return (node.secondsLeft ?? usual) + later;
}
