const SLOTS = 256;
const SLOT_BYTES = 128;
/** The count and a state for each slot, then the addresses: one byte of length, then the text. */
const TEXT_OFFSET = (1 + SLOTS) * Int32Array.BYTES_PER_ELEMENT;

const STATE = { gone: 0, listed: 1, dropped: 2 } as const;

/**
 * The neighbors this node knows of, shared by its threads: the list may change while the image is written, and a liar that
 * one thread has found is asked by none. Addresses are only ever added, so nobody reads half of one; what changes is their state.
 */
export class NeighborList {
  readonly memory: SharedArrayBuffer;
  readonly #count: Int32Array;
  readonly #states: Int32Array;
  readonly #texts: Buffer;

  constructor(memory = new SharedArrayBuffer(TEXT_OFFSET + SLOTS * SLOT_BYTES)) {
    this.memory = memory;
    this.#count = new Int32Array(memory, 0, 1);
    this.#states = new Int32Array(memory, Int32Array.BYTES_PER_ELEMENT, SLOTS);
    this.#texts = Buffer.from(memory, TEXT_OFFSET);
  }

  /** Makes these the neighbors, and no others. Who was dropped stays so. For one thread only. */
  set(urls: readonly string[]): void {
    const known = this.#known();
    for (const [slot, url] of known.entries()) {
      const next = urls.includes(url) ? STATE.listed : STATE.gone;
      if (next === STATE.listed) Atomics.compareExchange(this.#states, slot, STATE.gone, STATE.listed);
      else Atomics.compareExchange(this.#states, slot, STATE.listed, STATE.gone);
    }
    for (const url of urls) if (!known.includes(url)) this.#add(url);
  }

  /** Whom to ask. */
  listed(): string[] {
    return this.#inState(STATE.listed);
  }

  /** It served something that is not the chunk: never asked again. */
  drop(url: string): void {
    const slot = this.#known().indexOf(url);
    if (slot >= 0) Atomics.store(this.#states, slot, STATE.dropped);
  }

  dropped(): string[] {
    return this.#inState(STATE.dropped);
  }

  #inState(state: number): string[] {
    return this.#known().filter((_, slot) => Atomics.load(this.#states, slot) === state);
  }

  #known(): string[] {
    const count = Atomics.load(this.#count, 0);
    return Array.from({ length: count }, (_, slot) => {
      const at = slot * SLOT_BYTES;
      return this.#texts.toString('latin1', at + 1, at + 1 + (this.#texts[at] ?? 0));
    });
  }

  /** One that does not fit is left out: it costs its share of the uplink, nothing else. */
  #add(url: string): void {
    const slot = Atomics.load(this.#count, 0);
    if (slot >= SLOTS || url.length >= SLOT_BYTES) return;
    const at = slot * SLOT_BYTES;
    this.#texts[at] = url.length;
    this.#texts.write(url, at + 1, 'latin1');
    Atomics.store(this.#states, slot, STATE.listed);
    Atomics.store(this.#count, 0, slot + 1);
  }
}
