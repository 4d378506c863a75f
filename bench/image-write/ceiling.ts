import { join } from 'node:path';
import { measure, median } from './measure.ts';
import type { Workspace } from './workspace.ts';

export interface Ceiling {
  downloadSeconds: number;
  decompressSeconds: number;
  writeSeconds: number;
  chunkedSeconds: number;
}

/** How fast each stage is alone, in the same rounds as the chunked writer: no writer can be faster than the slowest. */
export async function measureCeiling(
  workspace: Workspace,
  ours: string,
  rounds: number,
  say: (text: string) => void,
): Promise<Ceiling> {
  const { url, folder, sizes } = workspace;
  const blob = join(folder, 'chunked.zst');
  const runs = {
    download: [] as number[],
    decompress: [] as number[],
    write: [] as number[],
    chunked: [] as number[],
  };
  for (let round = 1; round <= rounds; round += 1) {
    say(`ceilings, round ${round} of ${rounds}`);
    runs.download.push((await measure(`curl -sf ${url}/chunked.zst -o /dev/null`)).wallSeconds);
    // all cores: two processes, each with every frame, so half of their time is what two threads would need
    const decompress = await measure(`(zstd -qdc ${blob} > /dev/null & zstd -qdc ${blob} > /dev/null; wait)`);
    runs.decompress.push(decompress.wallSeconds / 2);
    const target = workspace.freshTarget(sizes.big);
    const data = Math.ceil((sizes.big * 0.35) / 4 / 2 ** 20);
    runs.write.push(
      (await measure(`dd if=/dev/zero of=${target} bs=4M count=${data} oflag=direct conv=fsync status=none`))
        .wallSeconds,
    );
    const again = workspace.freshTarget(sizes.big);
    runs.chunked.push((await measure(`${ours} ${url}/chunked.zst ${again}`)).wallSeconds);
  }
  return {
    downloadSeconds: median(runs.download),
    decompressSeconds: median(runs.decompress),
    writeSeconds: median(runs.write),
    chunkedSeconds: median(runs.chunked),
  };
}
