import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from '../../system/run.ts';

const SOURCE = `
  import { expect, it } from 'vitest';
  import fc from '../fast-check.ts';
  import { rounds, testIntegers, testSeed } from '../seeds.ts';
  it('is wrong (always)', () => {
    fc.assert(fc.property(fc.nat(), (n) => { expect(n).toBe(-1); }));
  });
  it('asks twice', () => {
    testSeed(7);
    testSeed(7);
    throw new Error('wrong');
  });
  it('counts', () => {
    let runs = 0;
    fc.assert(fc.property(fc.nat(), () => { runs += 1; }), { numRuns: 20 });
    console.log(JSON.stringify({ runs, rounds: rounds(5), first: testIntegers(7)(1000) }));
  });`;

/** Runs seeded tests of our own with our vitest and gives all that was printed. */
async function runSeeded(env: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(join(import.meta.dirname, 'made-up-'));
  try {
    writeFileSync(join(folder, 'seeded.test.ts'), SOURCE);
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', folder];
    const { stdout, stderr } = await run(process.execPath, vitest, {
      env: { ...env, NO_COLOR: '1' },
      okExitCodes: [1],
    });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const counted = (printed: string) => JSON.parse(/\{"runs".*\}/.exec(printed)?.[0] ?? '{}') as unknown;

it('a seeded test that fails prints a seed and a command, and that command brings the same failure', async () => {
  const printed = await runSeeded({ KINDLING_TEST_SCALE: '1' });
  const again =
    /KINDLING_TEST_SEED=(\d+) npm run test:unit -- test\/seeds\/made-up-\w+\/seeded\.test\.ts -t 'is wrong \\\(always\\\)'/;
  const seed = again.exec(printed)?.[1] ?? '';
  expect(printed).toContain(`The seed was ${seed}.`);
  // one that asks twice says it once
  expect(printed.match(/The seed was 7\./g)).toHaveLength(1);
  expect(printed).toContain(`{ seed: ${seed}, `); // fast-check's own words
  expect(counted(printed)).toMatchObject({ runs: 20, rounds: 5 });

  const repeated = await runSeeded({ KINDLING_TEST_SEED: seed, KINDLING_TEST_SCALE: '3' });
  expect(repeated).toContain(`{ seed: ${seed}, `);
  expect(counted(repeated)).toMatchObject({ runs: 60, rounds: 15 });
  expect(counted(repeated)).not.toMatchObject({ first: (counted(printed) as { first: number }).first });
});
