import { createHash } from 'node:crypto';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row, RunBenchmark } from './benchmark.ts';
import { judge } from './image-write/bars.ts';
import { bundleWriter } from './image-write/bundle-writer.ts';
import { type Case, listCases } from './image-write/cases.ts';
import { measureCeiling } from './image-write/ceiling.ts';
import { measureDelta } from './image-write/delta.ts';
import { isEqual, type Measurement, measure, median } from './image-write/measure.ts';
import { measureScaling } from './image-write/scaling.ts';
import { checkPrograms, openWorkspace, type Workspace } from './image-write/workspace.ts';

const GIB = 2 ** 30;

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
 * 1 images, server, disks  2 every way once per round, round after round  3 scaling, delta, ceiling  4 the bars
 * Options: --size <GiB> (2), --rounds <n> (3), --only <text>.
 */
export const benchmarkImageWrite: RunBenchmark = async ({ args, say }) => {
  checkPrograms();
  const option = (name: string) =>
    args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : undefined;
  const bytes = Number(option('size') ?? 2) * GIB;
  const rounds = Number(option('rounds') ?? 3);
  const only = option('only');
  const workspace = await openWorkspace(bytes, say);
  try {
    await publishDigest(workspace, 'disk.raw.zst');
    const ours = await bundleWriter(join(workspace.folder, 'bundle'));
    const cases = listCases(workspace, ours).filter(({ name }) => !only || name.includes(only));
    const results = await runCases(workspace, cases, rounds, say);
    const extras = only
      ? undefined
      : {
          ceiling: await measureCeiling(workspace, ours, rounds, say),
          scaling: await measureScaling(workspace, ours, say),
          delta: await measureDelta(workspace, ours, say),
        };
    return { rows: results.map(describe), bars: judge(results, extras) };
  } finally {
    await workspace.close();
  }
};

/** Interleaved: a change of the machine's load hits all of them alike. */
async function runCases(
  workspace: Workspace,
  cases: readonly Case[],
  rounds: number,
  say: (text: string) => void,
): Promise<CaseResult[]> {
  const runs = new Map<Case, { runs: Measurement[]; isEqual: boolean }>(
    cases.map((each) => [each, { runs: [], isEqual: true }]),
  );
  for (let round = 1; round <= rounds; round += 1) {
    for (const [each, state] of runs) {
      say(`round ${round} of ${rounds}: ${each.name}`);
      const bytes = each.image === 'disk.raw' ? workspace.sizes.big : workspace.sizes.small;
      const target = workspace.freshTarget(bytes);
      try {
        state.runs.push(await measure(each.command(target)));
        state.isEqual &&= isEqual(join(workspace.folder, each.image), target, bytes);
      } catch (thrown) {
        // a peer that fails is left out of the comparison, and said so; we must not fail
        if (each.isOurs) throw thrown;
        say(`${each.name} failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      }
    }
  }
  const finished = [...runs].filter(([, state]) => state.runs.length > 0);
  return finished.map(([each, state]) => {
    const bytes = each.image === 'disk.raw' ? workspace.sizes.big : workspace.sizes.small;
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

async function publishDigest({ folder }: Workspace, file: string): Promise<void> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(join(folder, file))) hash.update(bytes as Buffer);
  writeFileSync(join(folder, `${file}.sha256`), hash.digest('hex'));
}
