/** Somebody who reached the server and did not accept its certificate. */
export interface CertificateRefusal {
  address: string;
  /** OpenSSL's name of what is wrong. */
  reason: string;
  lastAt: string;
}

/** A node asks again every few seconds; one that is silent for this long has gone, or trusts us now. */
const FORGOTTEN_AFTER_MS = 2 * 60_000;
const MOST_ADDRESSES = 200;

/**
 * Who refuses our certificate, by address: such a node can tell nothing else, and an operator who waits for it is to see why it
 * does not come. Kept in memory only, and bounded, because anybody can say it.
 */
export class CertificateRefusals {
  readonly #refusals = new Map<string, CertificateRefusal>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** True if this address has not said so lately. */
  note(address: string, reason: string): boolean {
    this.#forgetOld();
    const before = this.#refusals.get(address);
    this.#refusals.delete(address); // to the end of the order: the oldest goes first
    this.#refusals.set(address, { address, reason, lastAt: this.#now().toISOString() });
    const [oldest] = this.#refusals.keys();
    if (this.#refusals.size > MOST_ADDRESSES && oldest !== undefined) this.#refusals.delete(oldest);
    return before?.reason !== reason;
  }

  list(): CertificateRefusal[] {
    this.#forgetOld();
    return [...this.#refusals.values()];
  }

  #forgetOld(): void {
    const limit = new Date(this.#now().getTime() - FORGOTTEN_AFTER_MS).toISOString();
    for (const { address, lastAt } of this.#refusals.values())
      if (lastAt < limit) this.#refusals.delete(address);
  }
}
