import { SNIFF_LENGTH } from '../formats.ts';
import type { RingWriter } from './ring.ts';

/** Takes the file as it comes: its first bytes wait until somebody knows how to decode them, then everything goes into the ring. */
export class Intake {
  readonly #ring: RingWriter;
  readonly #resume: () => void;
  readonly #first = Promise.withResolvers<Buffer>();
  #waiting = Buffer.alloc(0);
  #isOpen = false;
  #hasEnded = false;
  /** How long the ring has been full. */
  fullMs = 0;

  /** `resume` is called when more can be taken after `take` took less than it was given. */
  constructor(ring: RingWriter, resume: () => void) {
    this.#ring = ring;
    this.#resume = resume;
  }

  /** Enough bytes to tell every format, or all of a shorter file. */
  get first(): Promise<Buffer> {
    return this.#first.promise;
  }

  /** Bytes of the file, in order; answers how many were taken. */
  take(bytes: Buffer): number {
    if (this.#isOpen) return this.#feed(bytes);
    const part = bytes.subarray(0, SNIFF_LENGTH - this.#waiting.length);
    this.#waiting = Buffer.concat([this.#waiting, part]);
    if (this.#waiting.length === SNIFF_LENGTH) this.#first.resolve(this.#waiting);
    return part.length;
  }

  /** Somebody reads the ring now. */
  open(): void {
    this.#isOpen = true;
    this.#feed(this.#waiting);
    if (this.#hasEnded) this.#ring.end();
    else this.#resume();
  }

  /** All bytes of the file have been taken. */
  end(): void {
    this.#hasEnded = true;
    this.#first.resolve(this.#waiting);
    if (this.#isOpen) this.#ring.end();
  }

  #feed(bytes: Buffer): number {
    const taken = this.#ring.write(bytes);
    if (taken < bytes.length) {
      const since = performance.now();
      this.#ring.roomFreed().then(() => {
        this.fullMs += performance.now() - since;
        this.#resume();
      });
    }
    return taken;
  }
}
