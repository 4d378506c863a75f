/** One at a time, in the order they came. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Undefined: it is the caller's turn. Else it is when the promise resolves. The caller ends it with end(). */
  take(): Promise<void> | undefined {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  /** The next one has the turn from this moment on: a caller that comes now does not get in between. */
  end(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isTaken = false;
  }
}
