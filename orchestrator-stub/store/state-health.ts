import type { KindlingError } from '../../protocol/error.ts';

type Listener = (failure: KindlingError | undefined) => void;

/** How often a failing state folder is tried again. */
const PROBE_MS = 1000;

/** Whether the state folder takes writes. Once it does not, it is tried again until it does: no one has to come and restart us. */
export class StateHealth {
  readonly #probe: () => Promise<KindlingError | undefined>;
  readonly #listeners = new Set<Listener>();
  #failure: KindlingError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #probedAt = 0;
  #probing: Promise<void> | undefined;

  /** `probe` writes something and says what came of it; it never rejects. */
  constructor(probe: () => Promise<KindlingError | undefined>) {
    this.#probe = probe;
  }

  /** Undefined while all is well. */
  get failure(): KindlingError | undefined {
    return this.#failure;
  }

  /** Calls `listener` with each new failure, and with undefined when it is over. Returns the way to stop. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  failed(failure: KindlingError): void {
    const isNew = this.#failure?.code !== failure.code;
    this.#failure = failure;
    if (!this.#isOver) this.#timer ??= setInterval(() => void this.check(), PROBE_MS).unref();
    if (isNew) this.#tell();
  }

  /** A change went through. On a full disk small ones still may: there the probe decides, which asks for some room. */
  worked(): void {
    if (this.#failure && this.#failure.code !== 'KND_STATE_FULL') this.#recovered();
  }

  /** Finds out how it is now; a caller that asks more often than once a second gets the last answer. */
  async check(): Promise<KindlingError | undefined> {
    const now = performance.now();
    if (now - this.#probedAt >= PROBE_MS / 2) {
      this.#probedAt = now;
      this.#probing ??= this.#look();
    }
    await this.#probing;
    return this.#failure;
  }

  /** The store is closed: nothing is tried any more. */
  stop(): void {
    this.#isOver = true;
    this.#rest();
  }

  async #look(): Promise<void> {
    const failure = await this.#probe();
    this.#probing = undefined;
    if (failure) this.failed(failure);
    else if (this.#failure) this.#recovered();
  }

  #recovered(): void {
    this.#failure = undefined;
    this.#rest();
    this.#tell();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener(this.#failure);
  }
}
