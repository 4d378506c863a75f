import type { DemoView } from './demo-view.ts';
import type { Journey } from './journey.ts';
import type { ReachedStage } from './stages.ts';

/** The journeys for programs: one JSON object per line. */
export class JsonView implements DemoView {
  readonly #write: (line: string) => unknown;

  constructor(write: (line: string) => unknown) {
    this.#write = write;
  }

  say(): void {}

  begin(journeys: readonly Journey[]): void {
    this.#tell({
      event: 'begin',
      nodes: journeys.map(({ id, node }) => ({ id, name: node.name, mac: node.mac, serial: node.serial })),
    });
  }

  reached({ id, node }: Journey, { id: stage, atMs, detail }: ReachedStage): void {
    this.#tell({ event: 'stage', node: node.name, id, stage, atMs: Math.round(atMs), detail });
  }

  notice({ id, node }: Journey, code: string, message: string): void {
    this.#tell({ event: 'notice', node: node.name, id, code, message });
  }

  consoleLine(): void {}

  done(journeys: readonly Journey[], url: string): void {
    this.#tell({
      event: 'done',
      nodes: journeys.map(({ id, node, reached }) => ({
        id,
        name: node.name,
        page: `${url}/nodes/${id}`,
        record: `${url}/api/v1/nodes/${id}`,
        powerOnToReportMs: Math.round(reached.find((stage) => stage.id === 'running')?.atMs ?? 0),
      })),
    });
  }

  [Symbol.dispose](): void {}

  #tell(event: Record<string, unknown>): void {
    this.#write(`${JSON.stringify(event)}\n`);
  }
}
