import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SLOWEST = 10;

/** Ends every run with its slowest files and the plain line "N passed, N failed" that people and CI read. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    let skipped = 0;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'skipped') skipped += 1;
        else failed += 1;
      }
    }
    const skippedPart = skipped > 0 ? `, ${skipped} skipped` : '';
    const slowest = slowestFiles(
      modules.map((module) => ({
        file: relative(process.cwd(), module.moduleId),
        ms: timeOf(module),
      })),
    );
    process.stdout.write(`\n${slowest}${passed} passed, ${failed} failed${skippedPart}\n`);
  }
}

/** All the time a file took one of the workers: what it imports and its hooks count, its machines boot there. */
function timeOf(module: TestModule): number {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } =
    module.diagnostic();
  return collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration;
}

/** A table of the slowest files, slowest first; nothing where there is only one. */
export function slowestFiles(files: readonly { file: string; ms: number }[]): string {
  if (files.length < 2) return '';
  const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const lines = slowest.map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${file}`);
  return `the slowest of ${files.length} files:\n${lines.join('\n')}\n\n`;
}
