import type { ActionOutcome, StartChildOptions } from '../../actions/process/start-child.ts';
import { fromReport } from '../../protocol/error-report.ts';

export type StartChild = (
  image: string,
  variables: Record<string, string>,
  context?: StartChildOptions,
) => Promise<ActionOutcome>;

export interface StepContext {
  startChild: StartChild;
  say: (text: string) => void;
  signal: AbortSignal;
}

/** Runs one action as a workflow would; a failed one ends the installation with its own code. */
export async function runStep(
  { startChild, say, signal }: StepContext,
  action: string,
  variables: Record<string, string>,
  options: Pick<StartChildOptions, 'isDryRun'> = {},
): Promise<Record<string, unknown>> {
  let lastProgress = '';
  const outcome = await startChild(action, variables, {
    signal,
    ...options,
    onEvent: (event) => {
      if (event.type === 'plan' && options.isDryRun) for (const line of event.summary) say(line);
      if (event.type === 'log' && event.level !== 'debug') say(`${action}: ${event.message}`);
      if (event.type !== 'progress' || event.percent === undefined) return;
      const progress = `${action}: ${event.stage} ${Math.floor(event.percent / 10) * 10} %`;
      if (progress !== lastProgress) say(progress);
      lastProgress = progress;
    },
  });
  signal.throwIfAborted(); // the reason it was stopped for says more than "canceled"
  if (outcome.status !== 'success') throw fromReport(outcome.error);
  // The plan was shown; what would be done says the same once more.
  if (!options.isDryRun) say(`${action}: ${outcome.summary}`);
  return outcome.data ?? {};
}
