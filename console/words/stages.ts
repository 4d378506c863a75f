import type { FloorNode, StageTime } from '../../protocol/floor.ts';

/** One piece of a node's bar. */
export interface Segment {
  /** Its share of the bar. */
  weight: number;
  /** 0–1 */
  filled: number;
  isCurrent: boolean;
}

/** So that the shortest stage can still be seen. */
const LEAST_SHARE = 0.03;

/**
 * The stages of a node as pieces of a bar, each as wide as it took the nodes of this profile (the times come in the order of the
 * stages); all of one width while that is not known.
 */
export function segmentsOf(node: FloorNode, times: readonly StageTime[]): Segment[] {
  const { stage, stageIndex, stageCount, percent, group } = node;
  if (stageCount === null || stageCount === 0) return [];
  const known = times.filter(({ profile, stage: each }) => profile === node.profile && each !== 'first-boot');
  const isKnown = known.length === stageCount;
  const total = known.reduce((sum, { medianSeconds }) => sum + medianSeconds, 0);
  const reached = group === 'done' || stage === 'first-boot' ? stageCount : (stageIndex ?? 0);
  return Array.from({ length: stageCount }, (_, index) => ({
    weight:
      isKnown && total > 0
        ? Math.max((known[index]?.medianSeconds ?? 0) / total, LEAST_SHARE)
        : 1 / stageCount,
    filled: index < reached ? 1 : index === reached ? (percent ?? 0) / 100 : 0,
    isCurrent: index === reached,
  }));
}

/** How far the whole node is, 0–100, as its bar shows it. */
export function percentOf(segments: readonly Segment[]): number {
  const all = segments.reduce((sum, { weight }) => sum + weight, 0);
  const done = segments.reduce((sum, { weight, filled }) => sum + weight * filled, 0);
  return all === 0 ? 0 : Math.round((done / all) * 100);
}
