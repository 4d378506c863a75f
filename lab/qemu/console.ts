import { KindlingError } from '../../protocol/error.ts';

export interface ConsoleLine {
  text: string;
  /** Since power-on. */
  atMs: number;
}

export interface ConsoleMatch {
  line: string;
  /** The groups of the regular expression; [0] is the whole match. */
  groups: readonly string[];
  atMs: number;
  /** Pass it as `after` to look only at what follows. */
  mark: number;
}

export interface ConsoleWaitOptions {
  /** 120 s unless given. */
  timeoutMs?: number;
  /** Only lines from this mark on (see `mark()`); everything since power-on unless given. */
  after?: number;
  /** A line that means it will never happen; a kernel panic unless given. */
  failOn?: RegExp;
  /** What is waited for may end in no line, as prompts do. Never where groups are read: half a line may match with half a number. */
  prompt?: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are steered by exactly these
const ESCAPE_SEQUENCES = /\x1b(?:\[[0-9;?=]*[A-Za-z]|[()][A-Z0-9]|[=>78cDM])/g;
const PANIC = /Kernel panic - not syncing/;

/** A line of the kernel's own, with its time in brackets; its last words are never left out. */
export function isKernelMessage(text: string): boolean {
  return /^\[ *\d+\.\d{6}\]/.test(text) && !PANIC.test(text);
}

/** The serial console of a machine: lines with the time they appeared, and waiting for one. */
export class SerialConsole {
  readonly #lines: ConsoleLine[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #listeners = new Set<(line: ConsoleLine) => void>();
  readonly #outputListeners = new Set<(chunk: string) => void>();
  readonly #endListeners = new Set<(reason: string) => void>();
  readonly #write: (text: string) => void;
  readonly #elapsedMs: () => number;
  #partial = '';
  #ended: string | undefined;

  constructor(options: { write: (text: string) => void; elapsedMs: () => number }) {
    this.#write = options.write;
    this.#elapsedMs = options.elapsedMs;
  }

  get lines(): readonly ConsoleLine[] {
    const partial = clean(this.#partial);
    return partial === '' ? this.#lines : [...this.#lines, { text: partial, atMs: this.#elapsedMs() }];
  }

  /** The whole console as text. */
  get text(): string {
    return this.lines.map(({ text }) => text).join('\n');
  }

  /** The end of the console now: `waitFor(…, { after: console.mark() })` sees only what comes later. */
  mark(): number {
    return this.#lines.length + (clean(this.#partial) === '' ? 0 : 1);
  }

  /** Types on the console; end with '\n' to press Enter. */
  type(text: string): void {
    this.#write(text);
  }

  /** Calls `listener` for every finished line from now on; gives a function that stops it. */
  onLine(listener: (line: ConsoleLine) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` with everything as it comes in, escape sequences and all: for showing it on a terminal. */
  onOutput(listener: (chunk: string) => void): () => void {
    this.#outputListeners.add(listener);
    return () => this.#outputListeners.delete(listener);
  }

  /** Calls `listener` when the machine is off, with the reason. */
  onEnd(listener: (reason: string) => void): void {
    if (this.#ended !== undefined) listener(this.#ended);
    else this.#endListeners.add(listener);
  }

  /** Waits for a line, with `prompt` also for one that is not finished. Fails with the last lines when it does not come. */
  waitFor(pattern: RegExp | string, options: ConsoleWaitOptions = {}): Promise<ConsoleMatch> {
    const { promise, resolve, reject } = Promise.withResolvers<ConsoleMatch>();
    const timeoutMs = options.timeoutMs ?? 120_000;
    const failOn = options.failOn ?? PANIC;
    let next = options.after ?? 0;
    const fail = (code: 'KND_TIMEOUT' | 'KND_VM_ENDED', what: string) => {
      const tail = this.lines.slice(-25).map(({ text }) => `  | ${text}`);
      finish(() =>
        reject(
          new KindlingError(code, `waited for ${pattern} on the console: ${what}\n${tail.join('\n')}`, {
            evidence: { pattern: String(pattern) },
          }),
        ),
      );
    };
    const look = () => {
      const { lines } = this;
      for (let index = next; index < lines.length; index += 1) {
        const line = lines[index];
        if (!line) continue;
        const isFinished = index < this.#lines.length || this.#ended !== undefined;
        const groups = isFinished || options.prompt ? matchLine(line.text, pattern) : undefined;
        if (groups) {
          return finish(() => resolve({ line: line.text, groups, atMs: line.atMs, mark: index + 1 }));
        }
        if (isFinished && failOn.test(line.text))
          return fail('KND_VM_ENDED', `the machine said “${line.text}”`);
      }
      next = Math.max(next, this.#lines.length); // the unfinished line is looked at again
      if (this.#ended !== undefined) fail('KND_VM_ENDED', this.#ended);
    };
    const timer = setTimeout(() => fail('KND_TIMEOUT', `nothing for ${timeoutMs / 1000} s`), timeoutMs);
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      this.#watchers.delete(look);
      settle();
    };
    this.#watchers.add(look);
    look();
    return promise;
  }

  /** The machine's side: output that came in. */
  receive(chunk: string): void {
    for (const listener of this.#outputListeners) listener(chunk);
    this.#partial += chunk;
    const pieces = this.#partial.split(/\r*\n|\r(?=[^\r\n])/);
    this.#partial = pieces.pop() ?? '';
    const atMs = this.#elapsedMs();
    for (const piece of pieces) {
      const line = { text: clean(piece), atMs };
      this.#lines.push(line);
      for (const listener of this.#listeners) listener(line);
    }
    for (const look of [...this.#watchers]) look();
  }

  /** The machine's side: nothing more will come, because of `reason`. */
  end(reason: string): void {
    this.#ended = reason;
    for (const listener of this.#endListeners) listener(reason);
    for (const look of [...this.#watchers]) look();
  }
}

function matchLine(text: string, pattern: RegExp | string): readonly string[] | undefined {
  if (typeof pattern === 'string') return text.includes(pattern) ? [pattern] : undefined;
  return new RegExp(pattern, pattern.flags.replace('g', '')).exec(text)?.map((group) => group ?? '');
}

function clean(text: string): string {
  return text.replace(ESCAPE_SEQUENCES, '').replaceAll('\r', '').replaceAll('\0', '');
}
