import { Ledger, type LedgerEntry } from './ledger.ts';

/**
 * The things an action takes from the machine and must give back: mounts, loop devices, mappings.
 * Each is written to the ledger before it is taken, so that a later run can undo what a killed action left.
 */
export class Resources {
  readonly #stack: { entry: LedgerEntry; release: () => Promise<void> }[] = [];
  readonly #ledger: Ledger;

  constructor(ledgerPath?: string) {
    this.#ledger = new Ledger(ledgerPath);
  }

  /** Takes something and remembers how to give it back. The entry alone must suffice to undo it from another process. */
  async take<T>(entry: LedgerEntry, acquire: () => Promise<T>, release: () => Promise<void>): Promise<T> {
    await this.#ledger.note('take', entry);
    const taken = await acquire();
    this.#stack.push({ entry, release });
    return taken;
  }

  /** Gives one thing back early. */
  async release(entry: LedgerEntry): Promise<void> {
    const index = this.#stack.findLastIndex((held) => held.entry === entry);
    const [held] = index < 0 ? [] : this.#stack.splice(index, 1);
    if (!held) return;
    await held.release();
    await this.#ledger.note('released', entry);
  }

  /** Gives everything back, the last taken first. The first failure is thrown, but only after all were tried. */
  async [Symbol.asyncDispose](): Promise<void> {
    let failure: unknown;
    for (let held = this.#stack.at(-1); held; held = this.#stack.at(-1)) {
      try {
        await this.release(held.entry);
      } catch (thrown) {
        failure ??= thrown;
      }
    }
    if (failure !== undefined) throw failure;
    await this.#ledger.close();
  }
}
