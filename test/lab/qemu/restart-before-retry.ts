import { beforeEach, type TestContext } from 'vitest';

/**
 * For files whose tests share a machine: what a failed test leaves behind is a machine in any state, or none. Before the second try it is
 * started afresh with the disks it has, so that the try means something.
 */
export function restartBeforeRetry(restart: () => Promise<unknown>): void {
  beforeEach(async (context) => {
    if (isSecondTry(context)) await restart();
  });
}

export function isSecondTry({ task }: Pick<TestContext, 'task'>): boolean {
  return (task.result?.retryCount ?? 0) > 0;
}
