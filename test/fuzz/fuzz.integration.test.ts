import { afterAll, beforeAll, expect, it } from 'vitest';
import { rounds, testSeed } from '../seeds/seeds.ts';
import { Fuzzer } from './fuzz.ts';
import { mutate, randomOf } from './mutate.ts';
import { type FuzzTarget, fuzzTargets } from './targets.ts';

/** Of each target in `npm test`; `npm run fuzz` goes on for as long as it is told. */
const INPUTS = { quick: 400, slow: 40 };
let targets: FuzzTarget[];
beforeAll(async () => {
  targets = await fuzzTargets();
}, 120_000);
afterAll(() => Promise.all(targets.map((target) => target.stop?.())));

it('no reader of foreign bytes crashes, hangs or grows', { timeout: 300_000 }, async () => {
  const found: string[] = [];
  for (const target of targets) {
    const inputs = rounds(target.isSlow ? INPUTS.slow : INPUTS.quick);
    const { finding } = await new Fuzzer(target, testSeed()).run((count) => count < inputs);
    if (finding)
      found.push(`${target.name}: ${finding.what}\n${finding.input.subarray(0, 300).toString('base64')}`);
  }
  expect(found).toEqual([]);
});

it.each([
  ['crashes', (): unknown => Buffer.alloc(4).readUInt32LE(1), /ERR_OUT_OF_RANGE|RangeError/],
  ['grows', (): unknown => Buffer.alloc(80 * 2 ** 20), /took 80 MB/],
  ['hangs', (): void => burn(1200), /took 1\d\d\d ms/],
] as const)('a reader that %s is found', async (_what, run, says) => {
  const bad = { name: 'bad', goods: [Buffer.from('x')], run };
  const { finding } = await new Fuzzer(bad, 1).run((count) => count < 3);
  expect(finding?.what).toMatch(says);
});

it('the same seed breaks inputs in the same way', () => {
  const broken = () => {
    const random = randomOf(7);
    return Array.from({ length: 50 }, () => mutate(Buffer.from('good input'), Buffer.from('other'), random));
  };
  expect(broken()).toEqual(broken());
  expect(new Set(broken().map(String)).size).toBeGreaterThan(30);
});

function burn(milliseconds: number): void {
  const { user: before } = process.cpuUsage();
  let sum = 0;
  // It counts most of the time: to ask for the time is time of the system.
  while ((process.cpuUsage().user - before) / 1000 < milliseconds) {
    for (let number = 0; number < 1_000_000; number += 1) sum += number % 7;
  }
  expect(sum).toBeGreaterThan(0);
}
