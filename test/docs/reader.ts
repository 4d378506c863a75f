import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { makeFolder, removeFolder, startGuarded } from '../../lab/qemu/processes.ts';
import { readIfThere } from '../../system/read-if-there.ts';

interface Outcome {
  /** Undefined if it had not ended in time. */
  exitCode: number | undefined;
  printed: string[];
}

/** What goes on beside the reader's next commands. */
export interface Background {
  printed: () => string[];
  /** Undefined as long as it runs. */
  exitCode: () => number | undefined;
}

const ROOT = resolve(import.meta.dirname, '../..');
/** README.md: `kindling …` is `npm run kindling -- …` in the repository; run-an-action-by-hand.md says the same of the agent. */
const PROGRAMS = {
  kindling: 'exec npm run --silent kindling -- "$@"',
  'kindling-agent': 'exec node_modules/.bin/node --disable-warning=ExperimentalWarning agent/main.ts "$@"',
};
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** The repository as it is now, in an empty home; what is written to either stays in memory and ends with the shell. */
const ARRIVE = `set -e
ip link set lo up
mount -t tmpfs home ~
mkdir ~/.changes ~/.work ~/kindling
mount -t overlay kindling -o "lowerdir=${ROOT},upperdir=$HOME/.changes,workdir=$HOME/.work" ~/kindling
cd ~/kindling
set +e`;
/** npm prints what it runs; no page shows that. */
const NPM_BANNER = /^\n> kindling@\S+ .*\n> exec .*\n\n/;
/** A step that takes long says now and then how far it is; how often depends on the machine. */
const PROGRESS = /^▸ .* · \d+ s\n/gm;

/**
 * A person who types what a page says: a shell in a fresh checkout, with an empty home, a network and processes of its own.
 * When it ends, the kernel ends everything that was started in it before the shell is gone. Needs root.
 */
export class Reader implements AsyncDisposable {
  readonly #folder: string;
  readonly #shell: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  #steps = 0;

  private constructor(folder: string, shell: ChildProcess) {
    this.#folder = folder;
    this.#shell = shell;
    if (!shell.stdout) throw new TypeError('the shell has no output');
    this.#answers = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  }

  static async arrive(): Promise<Reader> {
    const folder = makeFolder('reader');
    const home = join(folder, 'you');
    const programs = join(folder, 'bin');
    const temporary = join(folder, 'tmp');
    for (const path of [home, programs, temporary]) await mkdir(path);
    for (const [name, script] of Object.entries(PROGRAMS))
      await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const shell = startGuarded('unshare', [...NAMESPACES, 'bash', '--norc'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {
        PATH: `${programs}:${process.env['PATH']}`,
        HOME: home,
        TMPDIR: temporary,
        XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
        LANG: 'C.UTF-8',
        npm_config_update_notifier: 'false',
        GIT_OPTIONAL_LOCKS: '0', // the repository's own index is only read
      },
    });
    const reader = new Reader(folder, shell);
    const { exitCode, printed } = await reader.type(ARRIVE);
    if (exitCode !== 0) throw new Error(printed.join('\n'));
    return reader;
  }

  /** Types a command and waits for its end. */
  async type(command: string, timeoutMs = 60_000): Promise<Outcome> {
    const step = await this.#write(command);
    const late = setTimeout(() => this.#leave(), timeoutMs);
    this.#shell.stdin?.write(`. ${step}.sh > ${step}.out 2>&1 < /dev/null; echo $?\n`);
    const { value, done } = await this.#answers.next();
    clearTimeout(late);
    return { exitCode: done ? undefined : Number(value), printed: this.#printedBy(step) };
  }

  /** Saves a file in the folder where the reader is. */
  async save(name: string, text: string): Promise<void> {
    const step = await this.#write(text);
    await this.type(`cp ${step}.sh ${name}`);
  }

  /** Types a command in another terminal. */
  async typeInBackground(command: string): Promise<Background> {
    const step = await this.#write(command);
    await writeFile(`${step}.out`, '');
    await this.type(`( ( . ${step}.sh ) > ${step}.out 2>&1 < /dev/null; echo $? > ${step}.end ) &`);
    return {
      printed: () => this.#printedBy(step),
      exitCode: () => numberIn(readIfThere(`${step}.end`)),
    };
  }

  async #write(text: string): Promise<string> {
    const step = join(this.#folder, `step-${++this.#steps}`);
    await writeFile(`${step}.sh`, `${text}\n`);
    return step;
  }

  #printedBy(step: string): string[] {
    const text = readFileSync(`${step}.out`, 'utf8')
      .replace(NPM_BANNER, '')
      .replaceAll(PROGRESS, '')
      .trimEnd();
    return text === '' ? [] : text.replaceAll(join(this.#folder, 'you'), '/home/you').split('\n');
  }

  /** Kills the first process of the namespace, which the kernel lets go only after all others. */
  #leave(): void {
    const { pid } = this.#shell;
    const children = readIfThere(`/proc/${pid}/task/${pid}/children`);
    for (const child of children?.trim().split(' ') ?? []) if (child) process.kill(Number(child), 'SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) {
      const ended = once(this.#shell, 'exit');
      this.#leave();
      await ended;
    }
    removeFolder(this.#folder);
  }
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === '' ? undefined : Number(text);
}
