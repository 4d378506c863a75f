import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/longest-first.ts';
import { PATIENCE } from './test/seeds/scale.ts';

// Four kinds of test, told apart by the file name, run in this order:
//   *.test.ts              unit: no root, no devices, whole set under a minute
//   *.integration.test.ts  real sockets, loop devices, network namespaces; root; two files at a time
//   (postgres: some of these once more, with the orchestrator's state in PostgreSQL instead of SQLite)
//   *.qemu.test.ts         boots virtual machines, each busy on one core; two files at a time
//   *.long.test.ts         long by nature, another form of what one of the others shows; only in `npm run test:long`
// Nothing is tried a second time: a test that needs it is broken, or what it tests is. Devices and machines share two cores
// with whatever else runs, so deadlines are long; what is waited for has its own, shorter one, and says what did not come.
/** For what is polled: as good as never, within the time of every test. */
const expectations = { poll: { timeout: 15_000 } };
/** Hundreds of programs are started from their source: each file is stripped of its types and compiled once, not every time. */
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, 'build/compile-cache') };

/** What reads and writes the orchestrator's state in every way it has. The others would say the same a second time. */
const ON_BOTH_ENGINES = ['enrollment', 'first-boot', 'hardware', 'http-surface', 'logs', 'onboarding'];

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/closing-line.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          env,
          include: ['test/**/*.test.ts'],
          exclude: ['**/*.integration.test.ts', '**/*.qemu.test.ts', '**/*.long.test.ts'],
          testTimeout: 20_000 * PATIENCE,
          expect: expectations,
          sequence: { groupOrder: 0 },
          maxWorkers: 2,
          // Half of the time went into loading the same modules 230 times. Who changes a module or the environment puts it back.
          isolate: false,
        },
      },
      {
        test: {
          name: 'integration',
          env,
          include: ['test/**/*.integration.test.ts'],
          testTimeout: 120_000 * PATIENCE,
          expect: expectations,
          hookTimeout: 300_000,
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'postgres',
          env,
          include: ON_BOTH_ENGINES.map((file) => `test/orchestrator-stub/${file}.integration.test.ts`),
          globalSetup: './test/postgres/cluster-for-all.ts',
          setupFiles: './test/postgres/use-postgres.ts',
          testTimeout: 120_000 * PATIENCE,
          expect: expectations,
          hookTimeout: 300_000,
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'qemu',
          env,
          include: ['test/**/*.qemu.test.ts'],
          testTimeout: 600_000,
          expect: expectations,
          hookTimeout: 600_000,
          sequence: { groupOrder: 2 },
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'long',
          env,
          include: ['test/**/*.long.test.ts'],
          testTimeout: 600_000,
          expect: expectations,
          hookTimeout: 600_000,
          sequence: { groupOrder: 3 },
          maxWorkers: 2,
        },
      },
    ],
  },
});
