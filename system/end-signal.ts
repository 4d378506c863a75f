import { constants } from 'node:os';

type EndSignal = 'SIGINT' | 'SIGTERM';

/**
 * Ctrl-C, and a service manager that signals a whole group, reach a program twice: directly, and forwarded by npm and
 * setup/run.mjs. Within this time both are one request.
 */
const SAME_REQUEST_MS = 1000;

/** Calls `end` at the first SIGINT or SIGTERM. A second one, later, ends the process at once. */
export function onEndSignal(end: (signal: EndSignal) => void): Disposable {
  let firstAt: number | undefined;
  const receive = (signal: EndSignal) => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      end(signal);
    } else if (now - firstAt > SAME_REQUEST_MS) {
      process.exit(exitCodeOf(signal));
    }
  };
  process.on('SIGINT', receive).on('SIGTERM', receive);
  return { [Symbol.dispose]: () => void process.off('SIGINT', receive).off('SIGTERM', receive) };
}

/** Resolves at the first SIGINT or SIGTERM. */
export function untilEndSignal(): Promise<EndSignal> {
  const { promise, resolve } = Promise.withResolvers<EndSignal>();
  onEndSignal(resolve);
  return promise;
}

/** The exit code by which shells tell that a signal ended a program. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
