import { execFileSync } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { run } from '../../system/run.ts';
import { thisRepository } from '../repository.ts';

/** The user "nobody" of every Debian. */
const NOBODY = 65_534;
/** A mutant may wait for ever. */
const PATIENCE_MS = 300_000;

/** A copy of this checkout that tests run in as an unprivileged user. */
export class CheckoutCopy implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'kindling-mutation-'));
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    const generated = globSync('*/**/generated/**/*.{ts,js,wasm}', {
      exclude: (name) => name === 'node_modules',
    });
    for (const file of [...thisRepository().files, ...generated]) {
      mkdirSync(join(this.#folder, dirname(file)), { recursive: true });
      copyFileSync(file, join(this.#folder, file));
    }
    // a folder of its own with links in it: vite puts files of its own beside them
    const packages = realpathSync('node_modules');
    mkdirSync(join(this.#folder, 'node_modules'));
    for (const name of readdirSync(packages).filter((each) => !each.startsWith('.vite')))
      symlinkSync(join(packages, name), join(this.#folder, 'node_modules', name));
    // some tests ask git for the list of files
    execFileSync('git', ['init', '-q'], { cwd: this.#folder });
    execFileSync('git', ['add', '-A'], { cwd: this.#folder });
    if (isRoot()) execFileSync('chown', ['-hR', `${NOBODY}:${NOBODY}`, this.#folder]);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#folder, file), text);
  }

  /** Which of these test files pass? */
  async passing(project: string, tests: readonly string[]): Promise<string[]> {
    if (tests.length === 0) return [];
    const results = join(this.#folder, 'results.json');
    rmSync(results, { force: true });
    await this.#vitest(project, tests, ['--reporter=json', `--outputFile=${results}`], 20 * PATIENCE_MS);
    const { testResults } = JSON.parse(readFileSync(results, 'utf8')) as {
      testResults: { name: string; status: string }[];
    };
    return testResults
      .filter(({ status }) => status === 'passed')
      .map(({ name }) => relative(realpathSync(this.#folder), name));
  }

  /** Do all of these test files pass, in time? */
  async passes(project: string, tests: readonly string[]): Promise<boolean> {
    return this.#vitest(project, tests, ['--bail=1'], PATIENCE_MS).catch(() => {
      this.#signal.throwIfAborted();
      return false;
    });
  }

  async #vitest(
    project: string,
    tests: readonly string[],
    more: readonly string[],
    timeoutMs: number,
  ): Promise<boolean> {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', project, ...tests, ...more];
    const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...vitest];
    const unprivileged = isRoot()
      ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--no-new-privs', ...command]
      : command;
    const [program = '', ...args] = unprivileged;
    const home = join(this.#folder, 'home');
    mkdirSync(home, { recursive: true });
    if (isRoot()) chownSync(home, NOBODY, NOBODY);
    const { exitCode } = await run(program, args, {
      cwd: this.#folder,
      env: { HOME: home, TMPDIR: home },
      signal: this.#signal,
      timeoutMs,
      okExitCodes: [0, 1],
    });
    return exitCode === 0;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const isRoot = () => process.getuid?.() === 0;
