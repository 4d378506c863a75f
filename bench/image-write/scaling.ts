import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type Measurement, measure } from './measure.ts';
import type { Workspace } from './workspace.ts';

export interface Scaling {
  times: number;
  run: Measurement;
}

/** The same writer on one, four and eight times as much image: zstd files and disk images can simply be joined. */
export async function measureScaling(
  workspace: Workspace,
  ours: string,
  say: (text: string) => void,
): Promise<Scaling[]> {
  const results: Scaling[] = [];
  const { folder, url, sizes } = workspace;
  execFileSync('bash', ['-c', 'zstd -q -3 small.raw -o joined-1.zst'], { cwd: folder });
  for (const times of [1, 4, 8]) {
    say(`scaling: ${times} × ${Math.round(sizes.small / 2 ** 20)} MiB`);
    const parts = Array.from({ length: times }, () => 'joined-1.zst').join(' ');
    if (times > 1) execFileSync('bash', ['-c', `cat ${parts} > joined-${times}.zst`], { cwd: folder });
    const target = workspace.freshTarget(sizes.small * times);
    results.push({ times, run: await measure(`${ours} ${url}/joined-${times}.zst ${target}`) });
    // without the first MiB: on the larger disk its table names the new place of the backup
    execFileSync('cmp', [
      '-i',
      '1MiB',
      '-n',
      String(sizes.small - 2 ** 20),
      join(folder, 'small.raw'),
      target,
    ]);
  }
  return results;
}
