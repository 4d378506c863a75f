import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Writer } from './bundle-writer.ts';
import { measure, median } from './measure.ts';
import type { Workspace } from './workspace.ts';

const MIB = 2 ** 20;

const TIMES = [1, 4, 8] as const;

/** Medians of all rounds. */
export interface Scaling {
  times: (typeof TIMES)[number];
  wallSeconds: number;
  peakRssMb: number;
}

/**
 * The same writer on one, four and eight times as much image: zstd files and disk images can simply be joined. The disk is a real one:
 * in memory there is no room for eight.
 */
export async function measureScaling(
  { folder, url, sizes, freshDisk }: Workspace,
  ours: Writer,
  { rounds, say }: { rounds: number; say: (text: string) => void },
): Promise<Scaling[]> {
  const results = TIMES.map((times) => ({ times, seconds: [] as number[], peaks: [] as number[] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { times, seconds, peaks } of results) {
      const bytes = sizes.unit * times;
      say(`scaling, round ${round} of ${rounds}: ${bytes / MIB} MiB`);
      const parts = Array.from({ length: times }, () => 'unit.raw.zst').join(' ');
      execFileSync('bash', ['-c', `cat ${parts} > joined.zst`], { cwd: folder });
      const target = freshDisk(bytes);
      const run = await measure(ours({ sources: [`${url}/joined.zst`], target }));
      seconds.push(run.wallSeconds);
      peaks.push(run.peakRssMb);
      // without the first MiB: on the larger disk its table names the new place of the backup
      const unit = join(folder, 'unit.raw');
      execFileSync('cmp', ['-i', '1MiB', '-n', String(sizes.unit - MIB), unit, target]);
    }
  }
  rmSync(join(folder, 'joined.zst'));
  return results.map(({ times, seconds, peaks }) => ({
    times,
    wallSeconds: median(seconds),
    peakRssMb: median(peaks),
  }));
}
