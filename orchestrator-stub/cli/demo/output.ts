/** Standard output, or what a test gives. */
export interface Terminal {
  isTTY?: boolean;
  write: (text: string) => unknown;
}

export interface PrintedLine {
  text: string;
  atMs: number;
}

/** What the demo prints: lines that stay, and on a terminal one status line below them that is drawn again and again. */
export class DemoOutput {
  /** Everything that stayed, for the picture. */
  readonly lines: PrintedLine[] = [];
  readonly isLive: boolean;
  readonly #terminal: Terminal;
  readonly #startedAt = performance.now();
  #status = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.isLive = terminal.isTTY === true;
  }

  print(text: string): void {
    const atMs = performance.now() - this.#startedAt;
    for (const line of text.split('\n')) this.lines.push({ text: line, atMs });
    this.#terminal.write(`${this.#erase()}${text}\n${this.#status}`);
  }

  /** Shows a status line; the empty one takes it away. Nothing on what is not a terminal. */
  status(text: string): void {
    if (!this.isLive) return;
    this.#terminal.write(`${this.#erase()}${text}`);
    this.#status = text;
  }

  #erase(): string {
    return this.#status === '' ? '' : '\r\x1b[K';
  }
}
