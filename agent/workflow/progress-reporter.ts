import type { ProgressEvent } from '../../protocol/action-events.ts';
import { encodeProgress } from '../../protocol/progress-text.ts';

const AT_MOST_EVERY_MS = 5_000;
/** Twice within the time after which an operator is told that a node is silent. */
const BEAT_MS = 15_000;

/**
 * Sends how an action goes as a text: what it told, now and then, and its last text again while it tells nothing, so that a long
 * silent action is not taken for a dead node. One at a time; a text that cannot be sent is dropped, a newer one follows.
 */
export class ProgressReporter {
  readonly #send: (text: string) => Promise<unknown>;
  readonly #beat: NodeJS.Timeout;
  #inFlight: Promise<unknown> | undefined;
  #lastSentAt = Number.NEGATIVE_INFINITY;
  #lastText: string;

  constructor(startText: string, send: (text: string) => Promise<unknown>) {
    this.#send = send;
    this.#lastText = startText;
    this.#beat = setInterval(() => {
      if (performance.now() - this.#lastSentAt >= BEAT_MS) this.#sendNow(this.#lastText);
    }, BEAT_MS);
    this.#beat.unref();
  }

  show(event: ProgressEvent): void {
    const text = encodeProgress(event);
    const isDue = performance.now() - this.#lastSentAt >= AT_MOST_EVERY_MS;
    if (isDue && text !== this.#lastText) this.#sendNow(text);
  }

  async end(): Promise<void> {
    clearInterval(this.#beat);
    await this.#inFlight;
  }

  #sendNow(text: string): void {
    if (this.#inFlight) return;
    this.#lastSentAt = performance.now();
    this.#lastText = text;
    this.#inFlight = this.#send(text)
      .catch(() => {})
      .finally(() => {
        this.#inFlight = undefined;
      });
  }
}
