import { type BackOff, retryUntilItWorks, type Waiting } from '../../net/retry.ts';
import type { HandOver, ProgressEvent } from '../../protocol/action-events.ts';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import { encodeFailure } from '../../protocol/failure-text.ts';
import { pause } from '../../system/wait.ts';
import { areCredentialsGone } from '../credentials/credentials.ts';
import type { Log } from '../report/log.ts';
import type { Executed, Executor } from './executor.ts';
import { decideResume, type Journal, type Outcome } from './journal.ts';
import { ProgressReporter } from './progress-reporter.ts';
import type { ReportAnswer, StatusReport, Work } from './work.ts';

export interface ActionSurroundings {
  server: {
    readonly storesProgress: boolean;
    report(work: Work, report: StatusReport): Promise<ReportAnswer>;
  };
  /** Says why a call failed. */
  explain: (what: string, error: unknown) => Promise<KindlingError>;
  executor: Executor;
  journal: Journal;
  log: Log;
  onWaiting: (waiting: Waiting) => void;
  onProgress: (work: Work, progress: ProgressEvent) => void;
  signal?: AbortSignal | undefined;
  backOff: BackOff;
}

export interface CarriedOut {
  state: Outcome['state'];
  handOver?: HandOver;
}

/** One action of a workflow: 1 decide  2 note and report the start  3 run  4 note and report the end. Every step survives a crash after it. */
export async function carryOut(work: Work, around: ActionSurroundings): Promise<CarriedOut | undefined> {
  const { executor, journal } = around;
  const decision = decideResume(work, journal.find(work), executor.mayRunAgain(work));
  const log = around.log.child({ workflow: work.workflowId, action: work.name });
  if (decision.kind === 'report-again') {
    log.info('this action ended before; reporting it again');
    await reportEnd(work, decision.outcome, { ...around, log });
    return carriedOutAfter(decision.outcome, { ...around, log });
  }
  if (decision.kind === 'interrupted') {
    const outcome = interrupted(work);
    journal.finished(work, outcome);
    await reportEnd(work, outcome, { ...around, log });
    return carriedOut(outcome);
  }
  return runAndReport(work, { ...around, log });
}

async function runAndReport(work: Work, around: ActionSurroundings): Promise<CarriedOut | undefined> {
  const { executor, journal, server, signal } = around;
  const attempt = journal.started(work);
  const log = around.log.child({ attempt });
  const startedAt = Date.now();
  const start: StatusReport = { state: 'running', message: 'Started execution', startedAt };
  const answer = await reportUntilAccepted(work, start, around);
  if (answer === 'superseded') {
    log.warn('the server does not want this action any more');
    journal.reported(work);
    return undefined;
  }
  log.info({ image: work.image, timeoutMs: work.timeoutMs }, `started ${work.name}`);

  const progress = new ProgressReporter(start.message, (text) =>
    server.storesProgress
      ? server.report(work, { ...start, message: text })
      : Promise.resolve('accepted' as const),
  );
  const isAfterwards = executor.secondsAfterReport?.(work) !== undefined;
  const running =
    work.timeoutMs === 0
      ? Promise.resolve(timedOutAtOnce(work))
      : executor.execute(work, {
          log,
          signal,
          isDryRun: isAfterwards,
          onProgress: (event) => {
            progress.show(event);
            around.onProgress(work, event);
          },
        });
  const executed = await running.finally(() => progress.end()); // a late RUNNING must not overtake the result
  signal?.throwIfAborted();

  const isDeferred = isAfterwards && executed.state === 'success';
  const outcome: Outcome = {
    state: executed.state,
    message: isDeferred ? 'runs once this is acknowledged' : executed.message,
    startedAt,
    stoppedAt: Date.now(),
    ...(executed.handOver ? { handOver: executed.handOver } : {}),
    ...(isDeferred ? { afterwards: work } : {}),
  };
  journal.finished(work, outcome);
  const level = outcome.state === 'success' ? 'info' : 'error';
  log[level]({ state: outcome.state, durationMs: outcome.stoppedAt - startedAt }, outcome.message);
  await reportEnd(work, outcome, { ...around, log });
  return carriedOutAfter(outcome, { ...around, log });
}

async function carriedOutAfter(outcome: Outcome, around: ActionSurroundings): Promise<CarriedOut> {
  if (!outcome.afterwards || around.journal.find(outcome.afterwards)?.hasBegun) return carriedOut(outcome);
  return runAfterReport(outcome.afterwards, around);
}

/** The server knows of its success already: how it really ends is for the log. It may take the machine down, and is never begun twice. */
export async function runAfterReport(work: Work, around: ActionSurroundings): Promise<CarriedOut> {
  const { executor, journal, signal } = around;
  const log = around.log.child({ workflow: work.workflowId, action: work.name });
  await pause((executor.secondsAfterReport?.(work) ?? 0) * 1000, signal);
  journal.begun(work);
  const executed = await executor.execute(work, {
    log,
    signal,
    onProgress: (event) => around.onProgress(work, event),
  });
  signal?.throwIfAborted();
  log[executed.state === 'success' ? 'info' : 'error'](`after the report: ${executed.message}`);
  return { state: 'success', ...(executed.handOver ? { handOver: executed.handOver } : {}) };
}

function carriedOut({ state, handOver }: Outcome): CarriedOut {
  return { state, ...(handOver ? { handOver } : {}) };
}

async function reportEnd(work: Work, outcome: Outcome, around: ActionSurroundings): Promise<void> {
  const answer = await reportUntilAccepted(work, outcome, around);
  if (answer === 'superseded') around.log.info('the server is already past this action');
  around.journal.reported(work);
}

function reportUntilAccepted(
  work: Work,
  report: StatusReport,
  around: ActionSurroundings,
): Promise<ReportAnswer> {
  const what = `reporting ${report.state} of ${work.name}`;
  return retryUntilItWorks(
    async () => {
      try {
        return await around.server.report(work, report);
      } catch (error) {
        throw await around.explain(what, error);
      }
    },
    {
      name: what,
      signal: around.signal,
      onFailure: around.onWaiting,
      isFinal: areCredentialsGone,
      backOff: around.backOff,
    },
  );
}

function timedOutAtOnce({ name }: Work): Executed {
  const error = new KindlingError(
    'KND_ACTION_TIMEOUT',
    `${name} has a timeout of 0 s: it is over before it starts`,
    {
      hint: 'Give the action a timeout in the template.',
    },
  );
  return { state: 'timeout', message: encodeFailure(toErrorReport(error)) };
}

function interrupted({ name }: Work): Outcome {
  const error = new KindlingError(
    'KND_ACTION_INTERRUPTED',
    `${name} was running when the agent was stopped, and cannot be run twice`,
  );
  const now = Date.now();
  return { state: 'failed', message: encodeFailure(toErrorReport(error)), startedAt: now, stoppedAt: now };
}
