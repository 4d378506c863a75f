import { SILENT_AFTER_SECONDS } from '../../protocol/floor.ts';

const SILENT_AFTER_MS = SILENT_AFTER_SECONDS * 1000;

/** `silent for 40 s`, once that is worth a word. */
export function silenceOf(heardAtMs: number, nowMs: number): string | undefined {
  const silentMs = nowMs - heardAtMs;
  return silentMs < SILENT_AFTER_MS ? undefined : `silent for ${Math.floor(silentMs / 1000)} s`;
}

/** Which nodes have stopped talking in the middle of a workflow: told every half minute, for as long as it lasts. */
export class SilenceWatch {
  readonly #nodes = new Map<string, { heardAtMs: number; toldAtMs: number }>();

  /** A node has said something; `isRunning` if its workflow goes on. */
  heard(nodeId: string, isRunning: boolean, nowMs: number): void {
    if (isRunning) this.#nodes.set(nodeId, { heardAtMs: nowMs, toldAtMs: nowMs });
    else this.#nodes.delete(nodeId);
  }

  /** What there is to say now: a line per node. */
  due(nowMs: number): string[] {
    const lines: string[] = [];
    for (const [nodeId, times] of this.#nodes) {
      if (nowMs - times.toldAtMs < SILENT_AFTER_MS) continue;
      times.toldAtMs = nowMs;
      lines.push(`${new Date(nowMs).toISOString()} ${nodeId} ${silenceOf(times.heardAtMs, nowMs)}`);
    }
    return lines;
  }
}
