import type { DemoView } from './demo-view.ts';
import { seconds } from './figures.ts';
import type { Journey } from './journey.ts';
import type { DemoOutput } from './output.ts';
import { type ReachedStage, stageTitle } from './stages.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const REDRAW_MS = 120;
const STILL_WAITING_MS = 20_000;
const LONGEST_DETAIL = 70;

/** The journeys for people: a line for each stage as it is reached, and on a terminal what is going on right now. */
export class PeopleView implements DemoView {
  readonly #output: DemoOutput;
  readonly #showsConsole: boolean;
  readonly #ticker: NodeJS.Timeout;
  #journeys: readonly Journey[] = [];
  #frame = 0;

  constructor(output: DemoOutput, { showsConsole = false } = {}) {
    this.#output = output;
    this.#showsConsole = showsConsole;
    this.#ticker = output.isLive
      ? setInterval(() => this.#draw(), REDRAW_MS)
      : setInterval(() => this.#sayWaiting(), STILL_WAITING_MS);
  }

  begin(journeys: readonly Journey[]): void {
    this.#journeys = journeys;
  }

  say(text: string): void {
    this.#output.print(text);
  }

  reached(journey: Journey, { id, atMs, detail }: ReachedStage): void {
    const short = detail.length > LONGEST_DETAIL ? `${detail.slice(0, LONGEST_DETAIL - 1)}…` : detail;
    const line = `✔ ${this.#name(journey)}${stageTitle(id).padEnd(18)} ${seconds(atMs).padStart(8)}   ${short}`;
    this.#output.print(line.trimEnd());
  }

  notice(journey: Journey, code: string, message: string): void {
    this.#output.print(`  ! ${this.#name(journey)}${code}: ${message}`);
  }

  consoleLine(journey: Journey, text: string): void {
    if (this.#showsConsole) this.#output.print(`  │ ${this.#name(journey)}${text}`);
  }

  done(journeys: readonly Journey[], url: string): void {
    for (const journey of journeys) {
      this.#output.print(`\n${this.#name(journey)}Time of each stage:`);
      for (const { title, ms } of journey.durations().slice(1))
        this.#output.print(`  ${title.padEnd(18)} ${seconds(ms).padStart(8)}`);
      const total = journey.reached.find(({ id }) => id === 'running')?.atMs ?? 0;
      this.#output.print(`  ${'power-on to report'.padEnd(18)} ${seconds(total).padStart(8)}`);
      this.#output.print(`  its page: ${url}/nodes/${journey.id}`);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#ticker);
    this.#output.status([]);
  }

  /** With one node there is nothing to tell apart. */
  #name({ node }: Journey): string {
    return this.#journeys.length > 1 ? `${node.name.padEnd(8)} ` : '';
  }

  #draw(): void {
    this.#frame = (this.#frame + 1) % SPINNER.length;
    this.#output.status(
      this.#journeys.flatMap((journey) => {
        if (!journey.next) return [];
        const now = `${SPINNER[this.#frame]} ${this.#name(journey)}${journey.next.padEnd(18)} ${seconds(journey.elapsedMs).padStart(8)}   ${journey.doing}`;
        return this.#journeys.length > 1 ? [now] : [now, ...journey.logTail.map((line) => `  │ ${line}`)];
      }),
    );
  }

  #sayWaiting(): void {
    for (const journey of this.#journeys) {
      const doing = journey.doing ? ` (${journey.doing})` : '';
      if (journey.next)
        this.#output.remark(
          `  … ${this.#name(journey)}waiting for “${journey.next}”${doing}, ${seconds(journey.elapsedMs)} since power-on`,
        );
    }
  }
}
