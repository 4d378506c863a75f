import type { ProgressEvent } from '../../protocol/action-events.ts';

const AT_MOST_EVERY_MS = 10_000;

/** Sends progress as a text now and then, one at a time; a text that cannot be sent is dropped, a newer one follows. */
export class ProgressReporter {
  readonly #send: (text: string) => Promise<unknown>;
  #inFlight: Promise<unknown> | undefined;
  #lastSentAt = Number.NEGATIVE_INFINITY;
  #lastText = '';

  constructor(send: (text: string) => Promise<unknown>) {
    this.#send = send;
  }

  show(event: ProgressEvent): void {
    const text = progressText(event);
    const isDue = performance.now() - this.#lastSentAt >= AT_MOST_EVERY_MS;
    if (!isDue || this.#inFlight || text === this.#lastText) return;
    this.#lastSentAt = performance.now();
    this.#lastText = text;
    this.#inFlight = this.#send(text)
      .catch(() => {})
      .finally(() => {
        this.#inFlight = undefined;
      });
  }

  async end(): Promise<void> {
    await this.#inFlight;
  }
}

/** «writing image 42 % · 3 min left · 210 MB/s» */
export function progressText({ stage, percent, etaSeconds, figures }: ProgressEvent): string {
  const share = percent === undefined ? '' : ` ${Math.floor(percent)} %`;
  const left = etaSeconds === undefined ? [] : [`${Math.ceil(etaSeconds)} s left`];
  const facts = Object.entries(figures ?? {}).map(([name, value]) => `${name} ${value}`);
  return [`${stage}${share}`, ...left, ...facts].join(' · ').slice(0, 500);
}
