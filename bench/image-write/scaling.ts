import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Writer } from './bundle-writer.ts';
import { type Measurement, measure } from './measure.ts';
import type { Workspace } from './workspace.ts';

const MIB = 2 ** 20;

export interface Scaling {
  bytes: number;
  run: Measurement;
}

/** The same writer on one, four and eight times as much image: zstd files and disk images can simply be joined. */
export async function measureScaling(
  { folder, url, sizes, freshTarget }: Workspace,
  ours: Writer,
  say: (text: string) => void,
): Promise<Scaling[]> {
  const results: Scaling[] = [];
  for (const times of [1, 4, 8]) {
    const bytes = sizes.unit * times;
    say(`scaling: ${bytes / MIB} MiB`);
    const parts = Array.from({ length: times }, () => 'unit.raw.zst').join(' ');
    execFileSync('bash', ['-c', `cat ${parts} > joined.zst`], { cwd: folder });
    const target = freshTarget(bytes);
    const run = await measure(ours({ sources: [`${url}/joined.zst`], target }));
    results.push({ bytes, run });
    // without the first MiB: on the larger disk its table names the new place of the backup
    const unit = join(folder, 'unit.raw');
    execFileSync('cmp', ['-i', '1MiB', '-n', String(sizes.unit - MIB), unit, target]);
  }
  rmSync(join(folder, 'joined.zst'));
  return results;
}
