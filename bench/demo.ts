import { execa } from 'execa';
import { STAGES } from '../demo/stages.ts';
import { microOsKernel } from '../lab/qemu/micro-os.ts';
import { ensureImmutableTarget } from '../lab/target-images/immutable.ts';
import { ensureMutableTarget } from '../lab/target-images/mutable.ts';
import type { Bar, Row, RunBenchmark } from './benchmark.ts';

const MAIN = new URL('../demo/main.ts', import.meta.url).pathname;

/** What a run of the demo promises: power-on to the report of the installed system, on two cores without KVM. */
const PROMISES = [
  { args: [], name: 'power-on to first-boot report, without KVM', limitS: 240 },
  { args: ['--secure-boot'], name: 'the same with Secure Boot', limitS: 300 },
] as const;

/** Whole runs of the demo with everything built already: those that promise a time, or the one with the options given. */
export const benchmarkDemo: RunBenchmark = async ({ args, say }) => {
  say('builds what is not in the cache');
  await microOsKernel();
  await (args.includes('--immutable') ? ensureImmutableTarget() : ensureMutableTarget());
  const runs = args.length === 0 ? PROMISES : [{ args, ...promiseFor(args) }];
  const rows: Row[] = [];
  const bars: Bar[] = [];
  for (const { args: options, name, limitS } of runs) {
    say(`runs the demo ${options.join(' ')}`);
    const { stdout } = await execa(process.execPath, [
      ...['--disable-warning=ExperimentalWarning', MAIN, '--json', ...options],
    ]);
    const run = readRun(stdout);
    rows.push(...run.rows.map((row) => ({ demo: options.join(' ') || 'plain', ...row })));
    if (limitS !== undefined)
      bars.push({ name, want: `< ${limitS} s`, got: `${run.reportS} s`, ok: run.reportS < limitS });
  }
  return { rows, bars };
};

/** Only what was promised is judged: other variants are shown. */
export function promiseFor(args: readonly string[]): { name: string; limitS: number | undefined } {
  const promise = PROMISES.find((one) => one.args.join(' ') === args.join(' '));
  return promise ?? { name: args.join(' '), limitS: undefined };
}

/** The stages of the slowest node, each with the time since power-on and since the stage before. */
export function readRun(output: string): { rows: Row[]; reportS: number } {
  const events = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const done = events.find(({ event }) => event === 'done') as
    | { nodes: { name: string; powerOnToReportMs: number }[] }
    | undefined;
  const slowest = done?.nodes.toSorted((a, b) => b.powerOnToReportMs - a.powerOnToReportMs)[0];
  const stages = events.filter(({ event, node }) => event === 'stage' && node === slowest?.name);
  const rows = stages.map((stage, index) => ({
    stage: STAGES.find(({ id }) => id === stage['stage'])?.title ?? String(stage['stage']),
    seconds: tenths(Number(stage['atMs'])),
    took: tenths(Number(stage['atMs']) - Number(stages[index - 1]?.['atMs'] ?? 0)),
    detail: String(stage['detail']),
  }));
  return { rows, reportS: tenths(slowest?.powerOnToReportMs ?? Number.POSITIVE_INFINITY) };
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds / 100) / 10;
}
