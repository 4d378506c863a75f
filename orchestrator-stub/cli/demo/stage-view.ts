import type { DemoOutput } from './output.ts';
import { type ReachedStage, STAGES, type StageId } from './stages.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const REDRAW_MS = 120;
const STILL_WAITING_MS = 20_000;

/** Shows stages as they are reached, counted from the moment it is made; on a terminal also what is being waited for. */
export class StageView implements Disposable {
  readonly reached: ReachedStage[] = [];
  readonly #output: DemoOutput;
  readonly #ticker: NodeJS.Timeout;
  readonly #startedAt = performance.now();
  #frame = 0;

  constructor(output: DemoOutput) {
    this.#output = output;
    this.#ticker = output.isLive
      ? setInterval(() => this.#draw(), REDRAW_MS)
      : setInterval(() => this.#sayWaiting(), STILL_WAITING_MS);
  }

  reach(id: StageId, detail: string): void {
    if (this.reached.some((stage) => stage.id === id)) return;
    const atMs = this.#elapsedMs;
    this.reached.push({ id, atMs, detail });
    const title = STAGES.find((stage) => stage.id === id)?.title ?? id;
    this.#output.print(`✔ ${title.padEnd(18)} ${seconds(atMs).padStart(7)}   ${detail}`.trimEnd());
  }

  [Symbol.dispose](): void {
    clearInterval(this.#ticker);
    this.#output.status('');
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  #draw(): void {
    const next = this.#next();
    this.#frame = (this.#frame + 1) % SPINNER.length;
    const time = seconds(this.#elapsedMs).padStart(7);
    if (next) this.#output.status(`${SPINNER[this.#frame]} ${next.padEnd(18)} ${time}`);
  }

  #sayWaiting(): void {
    const next = this.#next();
    if (next) this.#output.print(`  … waiting for ${next}, ${seconds(this.#elapsedMs)} since power-on`);
  }

  #next(): string | undefined {
    return STAGES.find(({ id }) => !this.reached.some((stage) => stage.id === id))?.title;
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
