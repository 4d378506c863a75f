import { execa } from 'execa';
import { microOsKernel } from '../lab/qemu/micro-os.ts';
import { ensureMutableTarget } from '../lab/target-images/mutable.ts';
import { STAGES } from '../orchestrator-stub/cli/demo/stages.ts';
import type { Row, RunBenchmark } from './benchmark.ts';

const MAIN = new URL('../orchestrator-stub/cli/main.ts', import.meta.url).pathname;
const LIMIT_S = 240;

/** A whole run of the demo with everything built already: power-on to the report of the installed system. */
export const benchmarkDemo: RunBenchmark = async ({ args, say }) => {
  say('builds what is not in the cache');
  await microOsKernel();
  await ensureMutableTarget();
  say(`runs the demo ${args.join(' ')}`);
  const { stdout } = await execa(process.execPath, [
    ...['--disable-warning=ExperimentalWarning', MAIN, 'demo', '--json', ...args],
  ]);
  const { rows, reportS } = readRun(stdout);
  return {
    rows,
    bars: [
      {
        name: 'power-on to first-boot report, without KVM',
        want: `< ${LIMIT_S} s`,
        got: `${reportS} s`,
        ok: reportS < LIMIT_S,
      },
    ],
  };
};

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
