import { retryUntilItWorks } from '../../net/retry.ts';
import type { HandOver } from '../../protocol/action-events.ts';
import { pause } from '../../system/wait.ts';
import { areCredentialsGone } from '../credentials/credentials.ts';
import type { AnyDialect } from './any-dialect.ts';
import { type ActionSurroundings, carryOut, runAfterReport } from './carry-out.ts';

export interface WorkLoopOptions extends Omit<ActionSurroundings, 'server'> {
  server: AnyDialect;
  pollIntervalMs: number;
  /** Called when there is nothing to do, before the next question. */
  onIdle: (actionsDone: number) => void;
  /** End when there is no more work after at least one action. */
  isOnce: boolean;
  /** What to do when a workflow has succeeded without handing the machine over itself. */
  whenDone: HandOver | undefined;
}

/** Asks for work and does it, one action after another, until an action hands the machine over. */
export async function workUntilHandOver(options: WorkLoopOptions): Promise<HandOver | undefined> {
  const { server, signal, onIdle, isOnce, pollIntervalMs } = options;
  const pauseBetweenAsks = () => pause(pollIntervalMs * (0.85 + Math.random() * 0.3), signal);
  let actionsDone = 0;
  let last: string | undefined;
  let hasSucceeded = false;
  const left = options.journal.pendingWork();
  const carriedOutBefore = left && (await runAfterReport(left, options));
  if (carriedOutBefore?.handOver) return carriedOutBefore.handOver;
  for (;;) {
    const work = await retryUntilItWorks(
      async () => {
        try {
          return await server.nextAction(signal);
        } catch (error) {
          signal?.throwIfAborted();
          throw await options.explain('asking for work', error);
        }
      },
      {
        name: 'the workflow server',
        signal,
        onFailure: options.onWaiting,
        isFinal: areCredentialsGone,
        backOff: options.backOff,
      },
    );
    if (work) {
      // A server that gives the same action again at once, whatever it is told about it, must not keep us spinning.
      const action = JSON.stringify([work.workflowId, work.taskId, work.actionId]);
      if (action === last) await pauseBetweenAsks();
      last = action;
      const carriedOut = await carryOut(work, options);
      if (carriedOut) actionsDone += 1;
      hasSucceeded = carriedOut?.state === 'success';
      if (carriedOut?.handOver && carriedOut.state === 'success') return carriedOut.handOver;
      continue;
    }
    if (hasSucceeded && options.whenDone) return options.whenDone;
    if (isOnce && actionsDone > 0) return undefined;
    onIdle(actionsDone);
    last = undefined;
    await pauseBetweenAsks();
  }
}
