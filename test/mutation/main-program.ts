import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { exitCodeOf, onEndSignal } from '../../system/end-signal.ts';
import { seededRandom } from '../actions/image-writer/test-image.ts';
import { findImports } from '../layout/find-imports.ts';
import { thisRepository } from '../repository.ts';
import { CheckoutCopy } from './checkout-copy.ts';
import { type Mutation, mutate, mutationsOf } from './mutations.ts';
import { nearestTests } from './nearest-tests.ts';

const FOLDERS = /^(agent|actions|orchestrator-stub)\//;
const PROJECTS = [
  { name: 'unit', ending: /(?<!\.(?:integration|qemu|long))\.test\.ts$/, nearest: 12 },
  { name: 'integration', ending: /\.integration\.test\.ts$/, nearest: 4 },
] as const;

interface Mutant extends Mutation {
  file: string;
  source: string;
  /** By project. */
  tests: Record<string, string[]>;
}

/**
 * `npm run mutate -- [--count 50] [--seed N] [--under agent/boot] [--project unit]`: draws mutations of the product's code, runs the nearest tests
 * with each, and names those that no test has noticed. Everything happens in a copy, and without root: mutated code that erases disks
 * must not get at one. Tests that need root therefore do not count, nor do virtual machines.
 *
 * 1 draw  2 copy  3 which tests pass without a mutation  4 each mutation  5 report
 */
async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '50' },
      seed: { type: 'string' },
      under: { type: 'string', default: '' },
      project: { type: 'string' },
    },
  });
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  const projects = PROJECTS.filter(({ name }) => values.project === undefined || name === values.project);
  const drawn = draw(allMutants(values.under), Number(values.count), seed);
  console.log(`seed ${seed}: ${drawn.length} mutations`);

  using copy = new CheckoutCopy(signal);
  const sound = new Set<string>();
  for (const { name } of projects) {
    const tests = [...new Set(drawn.flatMap((mutant) => mutant.tests[name] ?? []))];
    const passed = await copy.passing(name, tests);
    for (const test of passed) sound.add(test);
    console.log(
      `${name}: ${passed.length} of ${tests.length} test files pass without a mutation and without root`,
    );
  }

  const survivors: Mutant[] = [];
  for (const mutant of drawn) {
    const verdict = await judge(
      mutant,
      copy,
      projects.map(({ name }) => name),
      sound,
    );
    console.log(`${verdict.padEnd(11)} ${describe(mutant)}`);
    if (verdict === 'survived') survivors.push(mutant);
  }
  console.log(`\n${drawn.length - survivors.length} of ${drawn.length} noticed; survivors:`);
  for (const mutant of survivors) console.log(`  ${describe(mutant)}`);
}

function allMutants(under: string): Mutant[] {
  const { files, read } = thisRepository();
  const sources = files.filter((file) => file.endsWith('.ts'));
  const imports = new Map(sources.map((file) => [file, findImports(file, read(file))]));
  return sources
    .filter((file) => FOLDERS.test(file) && file.startsWith(under))
    .flatMap((file) => {
      const source = read(file);
      const nearest = nearestTests(imports, file);
      const tests = Object.fromEntries(
        PROJECTS.map(({ name, ending, nearest: count }) => [
          name,
          nearest.filter((test) => ending.test(test)).slice(0, count),
        ]),
      );
      return mutationsOf(source).map((mutation) => ({ ...mutation, file, source, tests }));
    });
}

function draw(mutants: Mutant[], count: number, seed: number): Mutant[] {
  const random = seededRandom(seed);
  const left = [...mutants];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(random() * left.length), 1),
  ).flat();
}

async function judge(mutant: Mutant, copy: CheckoutCopy, projects: readonly string[], sound: Set<string>) {
  copy.write(mutant.file, mutate(mutant.source, mutant));
  try {
    for (const project of projects) {
      const tests = (mutant.tests[project] ?? []).filter((test) => sound.has(test));
      if (tests.length > 0 && !(await copy.passes(project, tests))) return project;
    }
    return 'survived';
  } finally {
    copy.write(mutant.file, mutant.source);
  }
}

function describe({ kind, file, source, start, end, replacement }: Mutant): string {
  const line = source.slice(0, start).split('\n').length;
  const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return `${file}:${line} ${kind}: ${short(source.slice(start, end))} → ${short(replacement)}`;
}

const stop = new AbortController();
using _ended = onEndSignal((signal) => {
  process.exitCode = exitCodeOf(signal);
  stop.abort();
});
await main(stop.signal).catch((thrown: unknown) => {
  if (!stop.signal.aborted) throw thrown;
});
