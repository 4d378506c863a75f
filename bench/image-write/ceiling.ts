import { join } from 'node:path';
import { measure, median } from './measure.ts';
import type { Workspace } from './workspace.ts';

/** Seconds that each stage of a chunked write takes alone. */
export interface Ceiling {
  download: number;
  decompress: number;
  write: number;
}

/** How fast each stage is alone, in the same rounds as the writers: no writer can be faster than the slowest. */
export class CeilingRounds {
  readonly #workspace: Workspace;
  readonly #runs = { download: [] as number[], decompress: [] as number[], write: [] as number[] };

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async measureOnce(): Promise<void> {
    const { url, folder, sizes, freshTarget } = this.#workspace;
    const blob = join(folder, 'chunked.zst');
    this.#runs.download.push((await measure(`curl -sf ${url}/chunked.zst -o /dev/null`)).wallSeconds);
    // all cores: two processes, each with every frame, so half of their time is what two threads would need
    const decompress = await measure(`(zstd -qdc ${blob} > /dev/null & zstd -qdc ${blob} > /dev/null; wait)`);
    this.#runs.decompress.push(decompress.wallSeconds / 2);
    // what holds data is written, from memory; the zeros are not
    const target = freshTarget(sizes.big);
    const write = await measure(
      `dd if=${folder}/disk.raw of=${target} bs=4M oflag=direct conv=fsync,sparse status=none`,
    );
    this.#runs.write.push(write.wallSeconds);
  }

  get result(): Ceiling {
    const { download, decompress, write } = this.#runs;
    return { download: median(download), decompress: median(decompress), write: median(write) };
  }
}
