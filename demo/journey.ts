import type { DemoNode } from './demo-node.ts';
import { type ReachedStage, STAGES, type StageId, stageTitle } from './stages.ts';

const LOG_LINES = 3;

/** How far one node is on its way, counted from its power-on. */
export class Journey {
  readonly node: DemoNode;
  /** Of the orchestrator. */
  readonly id: string;
  readonly reached: ReachedStage[] = [];
  /** What goes on inside the present stage. */
  doing = '';
  /** The newest lines of the node's own log. */
  logTail: string[] = [];
  readonly #startedAt = performance.now();

  constructor(node: DemoNode, id: string) {
    this.node = node;
    this.id = id;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** Undefined if the stage was reached before: firmware and iPXE ask for the same things more than once. */
  reach(id: StageId, detail: string): ReachedStage | undefined {
    if (this.reached.some((stage) => stage.id === id)) return undefined;
    const stage = { id, atMs: this.elapsedMs, detail: detail.replaceAll(/\s+/g, ' ').trim() };
    this.reached.push(stage);
    this.doing = '';
    return stage;
  }

  noteLog(line: string): void {
    this.logTail = [...this.logTail, line].slice(-LOG_LINES);
  }

  /** The stage that is being waited for: the one after the furthest that was reached. */
  get next(): string | undefined {
    const furthest = Math.max(
      ...this.reached.map(({ id }) => STAGES.findIndex((stage) => stage.id === id)),
      -1,
    );
    return STAGES[furthest + 1]?.title;
  }

  /** How long each stage took: from the one before to it. */
  durations(): { title: string; ms: number; detail: string }[] {
    return this.reached.map(({ id, atMs, detail }, index) => ({
      title: stageTitle(id),
      ms: atMs - (this.reached[index - 1]?.atMs ?? 0),
      detail,
    }));
  }
}
