import { addressGroup } from './address-group.ts';

export interface SlotLimits {
  inAll: number;
  perAddress: number;
}

/** Limits what is open at once (connections, transfers), in all and per address. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #byAddress = new Map<string, number>();
  #taken = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.#taken >= this.#limits.inAll;
  }

  /** A slot to be given back, or undefined where there is none left. */
  take(address: string): Disposable | undefined {
    const group = addressGroup(address);
    const own = this.#byAddress.get(group) ?? 0;
    if (this.isFull || own >= this.#limits.perAddress) return undefined;
    this.#taken += 1;
    this.#byAddress.set(group, own + 1);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#taken -= 1;
        const left = (this.#byAddress.get(group) ?? 1) - 1;
        if (left > 0) this.#byAddress.set(group, left);
        else this.#byAddress.delete(group);
      },
    };
  }
}
