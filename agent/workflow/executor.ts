import { actionForImage } from '../../actions/catalog.ts';
import { type ActionOutcome, startChild } from '../../actions/process/start-child.ts';
import { secondsAfterReport, takeOffWaitdaemon } from '../../actions/waitdaemon/waitdaemon.ts';
import type { HandOver, ProgressEvent } from '../../protocol/action-events.ts';
import { encodeFailure } from '../../protocol/failure-text.ts';
import type { Log } from '../report/log.ts';
import type { Work } from './work.ts';

export interface ExecuteOptions {
  log: Log;
  onProgress: (progress: ProgressEvent) => void;
  signal?: AbortSignal | undefined;
  /** Only find out whether it could be run. */
  isDryRun?: boolean;
}

export interface Executed {
  state: 'success' | 'failed' | 'timeout';
  message: string;
  handOver?: HandOver;
}

/** How actions are run. The real one starts a child process; the fleet simulator and tests pass their own. */
export interface Executor {
  mayRunAgain(work: Work): boolean;
  /** How many seconds after the server has acknowledged its success this action is to run; undefined for all that run before. */
  secondsAfterReport?(work: Work): number | undefined;
  execute(work: Work, options: ExecuteOptions): Promise<Executed>;
}

/** Runs actions as child processes of this program (actions/process/start-child.ts), with their variables rewritten by `prepare`. */
export function createExecutor(
  prepare: (environment: Work['environment']) => Work['environment'],
  processEnvironment: Readonly<Record<string, string>> = {},
  stateDirectory?: string,
): Executor {
  return {
    secondsAfterReport: ({ image, environment, command }) =>
      secondsAfterReport({ image, variables: environment, args: command }),
    mayRunAgain: ({ image, environment, command }) =>
      actionForImage(takeOffWaitdaemon({ image, variables: environment, args: command }).image)
        ?.mayRunAgain ?? false,
    async execute(work, { log, onProgress, signal, isDryRun = false }) {
      let plan: string | undefined;
      const outcome = await startChild(work.image, prepare(work.environment), {
        args: work.command,
        isDryRun,
        container: {
          dialect: work.dialect,
          workflowId: work.workflowId,
          volumes: work.volumes,
          pid: work.pidNamespace,
        },
        timeoutMs: work.timeoutMs,
        processEnvironment,
        ...(stateDirectory === undefined ? {} : { stateDirectory }),
        ...(signal ? { signal } : {}),
        onOutput: (stream, line) => log.debug({ stream }, line),
        onEvent: (event) => {
          if (event.type === 'progress') onProgress(event);
          else if (event.type === 'log') log[event.level](event.fields ?? {}, event.message);
          else if (event.type === 'plan') {
            plan = event.hash;
            log.info({ planHash: event.hash }, `plan: ${event.summary.join('; ')}`);
          }
        },
      });
      return toExecuted(outcome, plan);
    },
  };
}

function toExecuted(outcome: ActionOutcome, plan: string | undefined): Executed {
  if (outcome.status === 'success') {
    const { summary, handOver } = outcome;
    return { state: 'success', message: summary, ...(handOver ? { handOver } : {}) };
  }
  return {
    state: outcome.status === 'timeout' ? 'timeout' : 'failed',
    message: encodeFailure(outcome.error, plan),
  };
}
