import { randomBytes } from 'node:crypto';

const PAGE = 4096;
const ZEROS = Buffer.alloc(PAGE);

/** The medium of a drive that is made up: as large as it says, as big as what was written. */
export class SparseMemory {
  readonly sizeBytes: number;
  readonly #pages = new Map<number, Buffer>();

  constructor(sizeBytes: number) {
    this.sizeBytes = sizeBytes;
  }

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    this.#walk(offset, length, (page, from, to, at) => {
      this.#pages.get(page)?.copy(bytes, at, from, to);
    });
    return bytes;
  }

  write(offset: number, bytes: Buffer): void {
    this.#walk(offset, bytes.length, (page, from, to, at) => {
      const contents = this.#pages.get(page) ?? Buffer.alloc(PAGE);
      bytes.copy(contents, from, at, at + to - from);
      if (contents.equals(ZEROS)) this.#pages.delete(page);
      else this.#pages.set(page, contents);
    });
  }

  zero(offset = 0, length = this.sizeBytes): void {
    if (offset === 0 && length === this.sizeBytes) this.#pages.clear();
    else this.write(offset, Buffer.alloc(length));
  }

  /** What a drive that encrypts shows once it has forgotten its key. */
  scramble(): void {
    for (const page of this.#pages.keys()) this.#pages.set(page, randomBytes(PAGE));
  }

  /** Whether this text is anywhere on it, on one page. */
  includes(text: string): boolean {
    return [...this.#pages.values()].some((page) => page.includes(text));
  }

  get isBlank(): boolean {
    return this.#pages.size === 0;
  }

  #walk(
    offset: number,
    length: number,
    visit: (page: number, from: number, to: number, at: number) => void,
  ): void {
    for (let at = 0; at < length; ) {
      const from = (offset + at) % PAGE;
      const to = Math.min(PAGE, from + length - at);
      visit(Math.floor((offset + at) / PAGE), from, to, at);
      at += to - from;
    }
  }
}
