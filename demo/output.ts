/** Standard output, or what a test gives. */
export interface Terminal {
  isTTY?: boolean;
  columns?: number;
  write: (text: string) => unknown;
}

export interface PrintedLine {
  text: string;
  atMs: number;
}

const NARROWEST = 80;

/** What the demo prints: lines that stay, and on a terminal a few status lines below them that are drawn again and again. */
export class DemoOutput {
  /** Everything that stayed, for the picture. */
  readonly lines: PrintedLine[] = [];
  readonly isLive: boolean;
  readonly #terminal: Terminal;
  readonly #startedAt = performance.now();
  #status: readonly string[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.isLive = terminal.isTTY === true;
  }

  print(text: string): void {
    const atMs = performance.now() - this.#startedAt;
    for (const line of text.split('\n')) this.lines.push({ text: line, atMs });
    this.remark(text);
  }

  /** Prints what is only for a person who waits, and not for the picture. */
  remark(text: string): void {
    this.#terminal.write(`${this.#erase()}${text}\n${this.#status.join('\n')}`);
  }

  /** Shows status lines, cut to the width of the terminal; none takes them away. Nothing on what is not a terminal. */
  status(lines: readonly string[]): void {
    if (!this.isLive) return;
    const width = (this.#terminal.columns ?? NARROWEST) - 1;
    const cut = lines.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
    this.#terminal.write(`${this.#erase()}${cut.join('\n')}`);
    this.#status = cut;
  }

  #erase(): string {
    if (this.#status.length === 0) return '';
    const up = this.#status.length > 1 ? `\x1b[${this.#status.length - 1}A` : '';
    return `${up}\r\x1b[J`;
  }
}
