import { KindlingError } from '../../protocol/error.ts';

const DEFAULT_STALL_MS = 60_000;
/** Fewer bytes than this within the stall timeout is a stalled connection, even if some trickle in. */
export const STALL_BYTES = 64 * 1024;

/** Rejects when fewer than STALL_BYTES arrive within the timeout, while nobody asked for a pause. */
export class StallWatch {
  readonly stalled: Promise<never>;
  #bytes = 0;
  #timer: NodeJS.Timeout;

  constructor(timeoutMs: number | undefined, isPaused: () => boolean) {
    const periodMs = timeoutMs ?? DEFAULT_STALL_MS;
    const { promise, reject } = Promise.withResolvers<never>();
    this.stalled = promise;
    promise.catch(() => {});
    this.#timer = setInterval(() => {
      if (this.#bytes < STALL_BYTES && !isPaused()) {
        reject(
          new KindlingError('KND_IMAGE_STALLED', `only ${this.#bytes} bytes came in ${periodMs / 1000} s`),
        );
      }
      this.#bytes = isPaused() ? STALL_BYTES : 0;
    }, periodMs);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
