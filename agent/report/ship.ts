import { delayBefore } from '../../net/retry.ts';
import { pause } from '../../system/wait.ts';
import type { Ring, RingEntry } from './ring.ts';

/** Where log lines go. `send` resolves when the other side has them; a rejection means: all of them again. */
export type LogSink = (entries: readonly RingEntry[]) => Promise<void>;

const BATCH_LINES = 500;
/** Servers refuse large requests (ours beyond 4 MiB), and a batch that is refused would be sent again for ever. Characters may double on the wire. */
const BATCH_CHARACTERS = 1 << 20;
/** Lines come in bursts; a short wait makes one request of them. */
const GATHER_MS = 300;

export class Shipper {
  readonly #ring: Ring;
  readonly #send: LogSink;
  #acknowledged = 0;
  #flushing: Promise<void> | undefined;

  constructor(ring: Ring, send: LogSink) {
    this.#ring = ring;
    this.#send = send;
  }

  /** Ships in order for ever, from the first line in the ring on; after a failure resends what was not acknowledged. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.#ring.moreThan(this.#acknowledged, signal);
        await pause(GATHER_MS, signal);
        await this.flush();
        failures = 0;
      } catch {
        // Not logged: a line about a line that cannot be shipped would be one more line to ship.
        if (signal.aborted) return;
        await pause(delayBefore(failures, { firstMs: 1000, factor: 2, maxMs: 30_000 }), signal).catch(
          () => {},
        );
        failures += 1;
      }
    }
  }

  /** Ships everything there is now. One at a time, so that nothing goes out twice or out of order. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  /** Before the machine goes away: ships the rest, trying for as long as it is given. */
  async drain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#acknowledged < this.#ring.lastSequence) {
      await this.flush().catch(() => pause(GATHER_MS, signal).catch(() => {}));
    }
  }

  async #sendAll(): Promise<void> {
    const target = this.#ring.lastSequence;
    while (this.#acknowledged < target) {
      const batch = withinLimit(this.#ring.after(this.#acknowledged, BATCH_LINES));
      const last = batch.at(-1);
      if (!last) return;
      await this.#send(batch);
      this.#acknowledged = last.sequence;
    }
  }
}

/** As many of the first entries as one request may hold; one at least. */
function withinLimit(entries: readonly RingEntry[]): readonly RingEntry[] {
  let characters = 0;
  const end = entries.findIndex(({ line }) => {
    characters += line.length;
    return characters > BATCH_CHARACTERS;
  });
  return end < 0 ? entries : entries.slice(0, Math.max(1, end));
}
