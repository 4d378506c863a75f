import type { AgentStatus } from '../report/reporting.ts';
import type { View } from './view.ts';

/** A serial log stays readable; a person still sees that something moves. */
const PROGRESS_EVERY_MS = 10_000;

/** Shows on the consoles what the agent is waiting for, for how long, and how far its action is. The rest is in its log. */
export function showStatus(
  view: View,
  signal: AbortSignal,
  now = () => performance.now(),
): (status: AgentStatus) => void {
  let waitingFor: string | undefined;
  let stopWaiting = () => {};
  let shownAt = now();
  signal.addEventListener('abort', () => stopWaiting(), { once: true });
  return (status) => {
    if (status.waitingFor !== waitingFor) {
      stopWaiting();
      stopWaiting = status.waitingFor === undefined ? () => {} : view.waiting('run', status.waitingFor);
      waitingFor = status.waitingFor;
    }
    if (status.waitingFor !== undefined || now() - shownAt < PROGRESS_EVERY_MS) return;
    shownAt = now();
    view.line('run', status.text);
  };
}
