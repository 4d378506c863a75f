import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { measure, median } from './measure.ts';
import type { Workspace } from './workspace.ts';

/** Seconds that each stage of a chunked write takes alone. */
export interface Ceiling {
  download: number;
  decompress: number;
  write: number;
  /** The stages share the cores: all the work of the three, divided by their number. */
  together: number;
}

const STAGES = ['download', 'decompress', 'write'] as const;
type Stage = (typeof STAGES)[number];
interface StageRun {
  wall: number;
  busy: number;
}

/** How fast each stage is alone, in the same rounds as the writers: no writer can be faster than the slowest. */
export class CeilingRounds {
  readonly #workspace: Workspace;
  readonly #runs: Record<Stage, StageRun[]> = { download: [], decompress: [], write: [] };

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async measureOnce(): Promise<void> {
    const { url, folder, sizes, freshTarget } = this.#workspace;
    const blob = join(folder, 'chunked.zst');
    await this.#add('download', `curl -sf ${url}/chunked.zst -o /dev/null`);
    // all cores: two processes, each with every frame, so half of their time is what two threads would need
    const twice = `(zstd -qdc ${blob} > /dev/null & zstd -qdc ${blob} > /dev/null; wait)`;
    await this.#add('decompress', twice, 2);
    // what holds data is written, from memory; the zeros are not
    const target = freshTarget(sizes.big);
    await this.#add(
      'write',
      `dd if=${folder}/disk.raw of=${target} bs=4M oflag=direct conv=fsync,sparse status=none`,
    );
  }

  get result(): Ceiling {
    const figure = (stage: Stage, name: keyof StageRun) => median(this.#runs[stage].map((run) => run[name]));
    const busy = STAGES.reduce((sum, stage) => sum + figure(stage, 'busy'), 0);
    return {
      download: figure('download', 'wall'),
      decompress: figure('decompress', 'wall'),
      write: figure('write', 'wall'),
      together: busy / availableParallelism(),
    };
  }

  async #add(stage: Stage, command: string, times = 1): Promise<void> {
    const { wallSeconds, busySeconds } = await measure(command);
    this.#runs[stage].push({ wall: wallSeconds / times, busy: busySeconds / times });
  }
}
