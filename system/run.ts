import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { KindlingError } from '../protocol/error.ts';
import { debianPackageOf } from './debian-package.ts';

export interface RunOptions {
  input?: string | Buffer;
  env?: Record<string, string>;
  cwd?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Exit codes that are an answer, not a failure. Default: only 0. */
  okExitCodes?: readonly number[];
  /**
   * For programs that a person's command starts: it stays in our process group, so that Ctrl-C ends it with us.
   * A deadline or cancel then ends the program alone; what it has started goes on.
   */
  foreground?: boolean;
  /** The arguments are somebody's text, which may hold passwords: errors, which travel to servers and logs, name the program only. */
  hidesArguments?: boolean;
  /** Called with what the program prints, as it prints it; for programs that run long. */
  onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
}

export interface RunResult {
  stdout: string;
  stderr: string;
  exitCode: number;
  durationMs: number;
}

/** The evidence of an error of `run`, complete: what was started, how it ended and what it said last. No standard output: it may be a key. */
export interface FailedRun {
  command: string;
  cwd: string;
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  stderr: string;
  durationMs: number;
}

/** How code that acts on the machine starts programs; tests and the simulator pass their own. */
export type Run = (program: string, args: readonly string[], options?: RunOptions) => Promise<RunResult>;

/** Set for our own processes (agent/workflow/action-environment.ts); the programs they start have no use for it. */
const OURS_ALONE = ['REGISTRY_PASSWORD'];

/** Names a folder of this root, which is not in another one. */
const OF_THIS_ROOT = ['TMPDIR'];

/** How long something a program left in the background may keep its output open once the program itself has ended. */
const LINGER_MS = 2000;

/** How much of a program's standard error goes with the error, which travels to the server. */
const STDERR_TAIL = 4096;

/** Runs a program to its end, in its own process group (unless in the foreground) so that a timeout or cancel ends its children too. */
export const run: Run = (program, args, options = {}) => {
  // Started and killed at once it could still have done something.
  if (options.signal?.aborted) return Promise.reject(options.signal.reason);
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<RunResult>();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...inherited(program), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: !options.foreground,
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout.push(chunk);
    options.onOutput?.('stdout', chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    options.onOutput?.('stderr', chunk);
  });
  child.stdin.on('error', () => {}); // a program that does not read its input is not an error
  child.stdin.end(options.input);

  const deadline = options.timeoutMs === undefined ? undefined : AbortSignal.timeout(options.timeoutMs);
  const signals = [options.signal, deadline].filter((signal) => signal !== undefined);
  const stop = AbortSignal.any(signals);
  const killTree = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(options.foreground ? child.pid : -child.pid, 'SIGKILL');
    } catch {
      // already gone
    }
  };
  stop.addEventListener('abort', killTree, { once: true });
  if (stop.aborted) killTree();

  child.on('exit', () => {
    const timer = setTimeout(
      // Not at once: what was printed last may wait to be read behind this very timer.
      () =>
        setImmediate(() => {
          if (child.stdout.closed && child.stderr.closed) return;
          killTree();
          child.stdout.destroy();
          child.stderr.destroy();
        }),
      LINGER_MS,
    );
    child.once('close', () => clearTimeout(timer));
  });

  const command = options.hidesArguments ? `${program} …` : [program, ...args].join(' ');
  const failed = (how: Partial<FailedRun>): FailedRun => ({
    command,
    cwd: options.cwd ?? process.cwd(),
    exitCode: null,
    signal: null,
    timedOut: false,
    stderr: Buffer.concat(stderr).toString().slice(-STDERR_TAIL),
    durationMs: performance.now() - startedAt,
    ...how,
  });
  child.on('error', (cause: NodeJS.ErrnoException) => reject(couldNotStart(program, failed({}), cause)));
  child.on('close', (exitCode, signal) => {
    stop.removeEventListener('abort', killTree);
    const result = {
      stdout: Buffer.concat(stdout).toString(),
      stderr: Buffer.concat(stderr).toString(),
      exitCode: exitCode ?? -1,
      durationMs: performance.now() - startedAt,
    };
    if (deadline?.aborted) {
      reject(
        new KindlingError('KND_TIMEOUT', `${command} did not end within ${options.timeoutMs} ms`, {
          evidence: { ...failed({ exitCode, signal, timedOut: true }) },
        }),
      );
    } else if (options.signal?.aborted) {
      reject(options.signal.reason);
    } else if (exitCode !== null && (options.okExitCodes ?? [0]).includes(exitCode)) {
      resolve(result);
    } else {
      const how = signal ? `was killed by ${signal}` : `ended with exit code ${exitCode}`;
      const said = lastLines(result.stderr) || lastLines(result.stdout);
      reject(
        new KindlingError('KND_COMMAND_FAILED', `${command} ${how}${said ? `: ${said}` : ''}`, {
          evidence: { ...failed({ exitCode, signal }) },
        }),
      );
    }
  });
  return promise;
};

/** What a program that `run` started wrote to its standard error before it failed; empty for every other error. */
export function stderrOf(thrown: unknown): string {
  const stderr = thrown instanceof KindlingError ? thrown.evidence?.['stderr'] : undefined;
  return typeof stderr === 'string' ? stderr.trim() : '';
}

function couldNotStart(program: string, failed: FailedRun, cause: NodeJS.ErrnoException): KindlingError {
  const evidence = { ...failed };
  // a working directory that is not there is ENOENT too
  if (cause.code !== 'ENOENT' || !existsSync(failed.cwd))
    return new KindlingError('KND_COMMAND_FAILED', `${failed.command} could not be started`, {
      cause,
      evidence,
    });
  const debianPackage = debianPackageOf(program);
  return new KindlingError('KND_TOOL_MISSING', `the program ${program} is not installed`, {
    cause,
    evidence,
    ...(debianPackage ? { hint: `Install the Debian package ${debianPackage}.` } : {}),
  });
}

function inherited(program: string): NodeJS.ProcessEnv {
  const kept = program === 'chroot' ? [...OURS_ALONE, ...OF_THIS_ROOT] : OURS_ALONE;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !kept.includes(name)));
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join(' / ').slice(-500);
}
