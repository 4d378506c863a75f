import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Nine times as much as `npm test` does: more than 1,000 kills of the image writer. */
const SCALE = 9;
/** On two cores these make a load of ten, the tests themselves included. */
const BUSY_PROCESSES = 8;
/** It ends by itself when we do, also when we are killed. */
const BUSY_SCRIPT = 'while kill -0 $PPID; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done';

/** How the seeded tests are told what to do (test/seeds/seeds.ts); what the caller has set stays. */
export function longTestEnvironment(given: NodeJS.ProcessEnv): Record<string, string> {
  return {
    KINDLING_TEST_SCALE: given['KINDLING_TEST_SCALE'] ?? String(SCALE),
    KINDLING_TEST_SEED: given['KINDLING_TEST_SEED'] ?? String(randomInt(2 ** 31)),
  };
}

/** The test files that take a seed and do more rounds when asked; those with virtual machines have one round only. */
export function seededTestFiles(root: string): string[] {
  return globSync('test/**/*.test.ts', { cwd: root })
    .filter((file) => !file.endsWith('.qemu.test.ts'))
    .filter((file) => /from '(\.\.\/)+seeds\//.test(readFileSync(join(root, file), 'utf8')))
    .sort();
}

/** `npm test` runs every project of vitest.config.ts but the long one, unless projects are named. */
export function usualProjects(args: readonly string[]): string[] {
  const isNamed = args.some((arg) => arg.startsWith('--project'));
  return isNamed ? [] : ['unit', 'integration', 'postgres', 'qemu'].flatMap((name) => ['--project', name]);
}

/** Does the work beside processes that want every core all the time. */
export async function besideBusyProcesses<T>(work: () => Promise<T>): Promise<T> {
  const busy: ChildProcess[] = Array.from({ length: BUSY_PROCESSES }, () =>
    spawn('sh', ['-c', BUSY_SCRIPT], { stdio: 'ignore' }),
  );
  try {
    return await work();
  } finally {
    for (const child of busy) child.kill('SIGKILL');
  }
}
