import { join } from 'node:path';
import { installDebianPackages } from '../setup/install-debian-packages.ts';
import type { Row, RunBenchmark } from './benchmark.ts';
import { type Extras, judge } from './image-write/bars.ts';
import { bundleWriter, type Writer } from './image-write/bundle-writer.ts';
import { type Case, listCases } from './image-write/cases.ts';
import { CeilingRounds } from './image-write/ceiling.ts';
import { measureDelta } from './image-write/delta.ts';
import { measureLink } from './image-write/link.ts';
import { isEqual, type Measurement, measure, median } from './image-write/measure.ts';
import { measureNeighbors } from './image-write/neighbors.ts';
import { PEER_PACKAGES } from './image-write/peer-packages.ts';
import { measureScaling } from './image-write/scaling.ts';
import { openWorkspace, type Workspace } from './image-write/workspace.ts';

const GIB = 2 ** 30;
/** What disturbs a run of a few seconds hits it or misses it: quick ways are measured so often in each round, in turn with the others. */
const QUICK_TIMES = 3;
const QUICK_SECONDS = 10;

export interface CaseResult {
  name: string;
  format: Case['format'];
  isOurs: boolean;
  wallSeconds: number;
  cpuPerGib: number;
  mbPerSecond: number;
  peakRssMb: number;
  isEqual: boolean;
}

/**
 * The image writer beside what people use today.
 * 1 the peers’ programs, images, server, disks  2 every way once per round, round after round  3 a slower link, scaling, delta, neighbors  4 the bars
 * Options: --size <GiB> (4), --rounds <n> (3), --quick (1 GiB, one round), --only <text> (no more than these ways),
 * --images <folder> (keep the images there for the next run; best in /dev/shm), --disk <folder> (on a real disk; /var/tmp).
 */
export const benchmarkImageWrite: RunBenchmark = async ({ args, say }) => {
  await installDebianPackages(PEER_PACKAGES);
  const option = (name: string) =>
    args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : undefined;
  const isQuick = args.includes('--quick');
  const big = Number(option('size') ?? (isQuick ? 1 : 4)) * GIB;
  const rounds = Number(option('rounds') ?? (isQuick ? 1 : 3));
  const only = option('only');
  say('images, server, disks');
  const workspace = await openWorkspace({
    sizes: { big, unit: isQuick ? GIB / 8 : GIB },
    keepIn: option('images'),
    diskFolder: option('disk'),
  });
  try {
    const ours = await bundleWriter(join(workspace.folder, 'bundle'));
    const cases = listCases(workspace, ours).filter(({ name }) => !only || name.includes(only));
    const ceiling = only ? undefined : new CeilingRounds(workspace, ours);
    const results = await runCases(workspace, cases, { rounds, say, ceiling });
    const extras: Extras | undefined = ceiling && {
      ceiling: ceiling.result,
      ...(await measureExtras(workspace, ours, { rounds, say })),
    };
    return { rows: results.map(describe), bars: judge(results, extras) };
  } finally {
    await workspace.close();
  }
};

async function measureExtras(workspace: Workspace, ours: Writer, { rounds, say }: Omit<Rounds, 'ceiling'>) {
  return {
    link: await measureLink(workspace, ours, say),
    scaling: await measureScaling(workspace, ours, { rounds, say }),
    delta: await measureDelta(workspace, ours, say),
    neighbors: await measureNeighbors(workspace, ours, say),
  };
}

interface Rounds {
  rounds: number;
  say: (text: string) => void;
  ceiling: CeilingRounds | undefined;
}

/** Interleaved: a change of the machine's load hits all of them alike. */
async function runCases(
  workspace: Workspace,
  cases: readonly Case[],
  { rounds, say, ceiling }: Rounds,
): Promise<CaseResult[]> {
  const runs = new Map<Case, { runs: Measurement[]; isEqual: boolean }>(
    cases.map((each) => [each, { runs: [], isEqual: true }]),
  );
  for (let round = 1; round <= rounds; round += 1) {
    for (let time = 0; time < QUICK_TIMES; time += 1) {
      for (const [each, state] of runs) {
        if (time > 0 && (state.runs.at(-1)?.wallSeconds ?? 0) > QUICK_SECONDS) continue;
        try {
          const { run, isRight } = await runOnce(workspace, each);
          state.runs.push(run);
          state.isEqual &&= isRight;
          const figures = `${run.wallSeconds.toFixed(2)} s, CPU ${run.cpuSeconds.toFixed(2)} s`;
          say(`round ${round} of ${rounds}: ${each.name}: ${figures}`);
        } catch (thrown) {
          // a peer that fails is left out of the comparison, and said so; we must not fail
          if (each.isOurs) throw thrown;
          runs.delete(each);
          say(`${each.name} is left out: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
        }
      }
      await ceiling?.measure();
    }
  }
  return [...runs].map(([each, state]) => {
    const bytes = bytesOf(each, workspace);
    const wallSeconds = median(state.runs.map((run) => run.wallSeconds));
    return {
      name: each.name,
      format: each.format,
      isOurs: each.isOurs,
      wallSeconds,
      cpuPerGib: (median(state.runs.map((run) => run.cpuSeconds)) / bytes) * GIB,
      mbPerSecond: bytes / 1e6 / wallSeconds,
      peakRssMb: Math.max(...state.runs.map((run) => run.peakRssMb)),
      isEqual: state.isEqual,
    };
  });
}

async function runOnce(workspace: Workspace, each: Case): Promise<{ run: Measurement; isRight: boolean }> {
  const bytes = bytesOf(each, workspace);
  const target = workspace.freshTarget(bytes);
  const run = await measure(each.command(target));
  return { run, isRight: isEqual(join(workspace.folder, each.image), target, bytes) };
}

const bytesOf = ({ image }: Case, { sizes }: Workspace) =>
  ({ 'disk.raw': sizes.big, 'unit.raw': sizes.unit })[image];

function describe(result: CaseResult): Row {
  return {
    way: result.name,
    format: result.format,
    s: Number(result.wallSeconds.toFixed(2)),
    'MB/s': Math.round(result.mbPerSecond),
    'CPU s/GiB': Number(result.cpuPerGib.toFixed(2)),
    'peak MB': result.peakRssMb,
    'bit-equal': result.isEqual,
  };
}
