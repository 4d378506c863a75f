import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isSea } from 'node:sea';
import type { Readable } from 'node:stream';
import { type ActionEvent, decodeActionEvent, type HandOver } from '../../protocol/action-events.ts';
import type { ErrorReport } from '../../protocol/error.ts';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';
import type { ContainerRequest } from '../foreign/runtime-spec.ts';
import { releaseLeftovers } from '../resources/ledger.ts';
import { endProcessesOf } from './process-tree.ts';
import { openLedger, releaseAbandoned } from './run-ledger.ts';

export interface StartChildOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Arguments of the action (the workflow's `command`), if it takes any. */
  args?: readonly string[];
  isDryRun?: boolean;
  /** How to run an image that is no action of ours. */
  container?: ContainerRequest;
  /** Every event, as it comes; the final result or error is among them. */
  onEvent?: (event: ActionEvent) => void;
  /** What the action and the programs it starts print, line by line. */
  onOutput?: (stream: 'stdout' | 'stderr', line: string) => void;
  /** How long a canceled action may clean up before it is killed. */
  graceMs?: number;
  /** The command that starts the agent; tests pass their own. */
  agentCommand?: readonly string[];
  /** Variables of the process itself, which are no variables of the action: registries of the site, whom to trust. */
  processEnvironment?: Readonly<Record<string, string>>;
  /** Where the ledgers of running actions live. */
  stateDirectory?: string;
}

/** How an action ended. It is data, not an exception: a failed action is a normal outcome of a workflow. */
export type ActionOutcome =
  | {
      status: 'success';
      summary: string;
      data?: Record<string, unknown>;
      handOver?: HandOver;
      durationMs: number;
    }
  | { status: 'failed' | 'timeout' | 'cancelled'; error: ErrorReport; durationMs: number };

/**
 * In the agent's process: runs one action as a child process and waits for its end. The child begins in `childCommand` and runs the
 * action in `runInChild`; a timeout can end it, its memory is its own. Variables travel over standard input, so secrets show up
 * neither in the process list nor in an environment that programs inherit. An action that dies is cleaned up after.
 */
export async function startChild(
  image: string,
  variables: Record<string, string>,
  context: StartChildOptions = {},
): Promise<ActionOutcome> {
  const startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  await releaseAbandoned(run, context.stateDirectory);
  const { id, path: ledgerPath } = await openLedger(context.stateDirectory);
  const [program = process.execPath, ...programArgs] = context.agentCommand ?? agentCommand();
  const child = spawn(program, [...programArgs, 'action', image, '--stdin'], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...context.processEnvironment,
      KINDLING_EVENTS_FD: '3',
      KINDLING_ACTION_ID: id,
      KINDLING_ACTION_LEDGER: ledgerPath,
    },
    detached: true,
  });
  child.stdin?.on('error', () => {}); // a child that died before reading reports itself by its exit
  const { args = [], isDryRun = false, container } = context;
  child.stdin?.end(JSON.stringify({ variables, args, isDryRun, container }));

  let last: Extract<ActionEvent, { type: 'result' | 'error' }> | undefined;
  const lines = Promise.all([
    eachLine(child.stdio[3] as Readable, (line) => {
      const event = decodeActionEvent(line);
      if (!event) return;
      if (event.type === 'result' || event.type === 'error') last = event;
      context.onEvent?.(event);
    }),
    eachLine(child.stdout, (line) => context.onOutput?.('stdout', line)),
    eachLine(child.stderr, (line) => context.onOutput?.('stderr', line)),
  ]);

  const stop = stopOnSignals(child, id, context);
  const { exitCode, startError } = await ended(child);
  const stopped = await stop.done();
  // A daemon the action started must not outlive it; one that hangs in the kernel cannot be ended, and is no reason not to report.
  await endProcessesOf(id).catch(() => 0);
  await lines;
  await releaseLeftovers(ledgerPath, run);

  if (stopped) {
    const error =
      stopped === 'timeout'
        ? new KindlingError('KND_ACTION_TIMEOUT', `${image} did not end within ${context.timeoutMs} ms`)
        : new KindlingError('KND_ACTION_CANCELLED', `${image} was canceled`);
    return { status: stopped, error: toErrorReport(error), durationMs: durationMs() };
  }
  if (last?.type === 'result' && exitCode === 0) {
    const { type: _, ...result } = last;
    return { status: 'success', ...result, durationMs: durationMs() };
  }
  const died = `${image} ended without a result (exit code ${exitCode ?? 'none'})`;
  const error =
    last?.type === 'error'
      ? last.error
      : toErrorReport(new KindlingError('KND_ACTION_DIED', died, { cause: startError }));
  return { status: 'failed', error, durationMs: durationMs() };
}

/** How this very program is started again: the one-file executable itself, or Node with our main file. */
function agentCommand(): string[] {
  if (isSea()) return [process.execPath];
  const main = path.join(import.meta.dirname, '../../agent/main.ts');
  return [process.execPath, '--disable-warning=ExperimentalWarning', main];
}

/** First SIGTERM, which the action answers by giving back what it took; after the grace period the whole tree is killed. */
function stopOnSignals(child: ChildProcess, id: string, context: StartChildOptions) {
  let reason: 'timeout' | 'cancelled' | undefined;
  let killing: Promise<unknown> | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = (why: 'timeout' | 'cancelled') => {
    if (reason || child.exitCode !== null) return;
    reason = why;
    child.kill('SIGTERM');
    killTimer = setTimeout(() => {
      killing = endProcessesOf(id).catch(() => 0);
    }, context.graceMs ?? 10_000);
  };
  const onCancel = () => stop('cancelled');
  context.signal?.addEventListener('abort', onCancel, { once: true });
  if (context.signal?.aborted) onCancel();
  const timer =
    context.timeoutMs === undefined ? undefined : setTimeout(() => stop('timeout'), context.timeoutMs);
  return {
    async done() {
      clearTimeout(timer);
      clearTimeout(killTimer);
      context.signal?.removeEventListener('abort', onCancel);
      await killing;
      return reason;
    },
  };
}

function ended(child: ChildProcess): Promise<{ exitCode: number | null; startError?: Error }> {
  const { promise, resolve } = Promise.withResolvers<{ exitCode: number | null; startError?: Error }>();
  child.on('error', (startError) => resolve({ exitCode: null, startError }));
  child.on('exit', (exitCode) => resolve({ exitCode }));
  return promise;
}

async function eachLine(stream: Readable | null, take: (line: string) => void): Promise<void> {
  if (!stream) return;
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }))
    take(line);
}
