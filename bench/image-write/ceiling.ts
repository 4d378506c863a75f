import { join } from 'node:path';
import type { Writer } from './bundle-writer.ts';
import { isEqual, type Measurement, measure, median } from './measure.ts';
import type { Workspace } from './workspace.ts';

/** Seconds that each stage of a chunked write takes alone, and what the write takes. */
export interface Ceiling {
  download: number;
  decompress: number;
  write: number;
  /** All of it, onto the same disk. */
  chunked: number;
  isEqual: boolean;
}

type Stage = 'download' | 'decompress' | 'write' | 'chunked';

/** Parallel writers when only writing is measured: a disk is not at its limit with one request after the other. */
const WRITERS = 8;
const BLOCK = 4 * 2 ** 20;

/**
 * How fast each stage is alone, in the same rounds as the writers: no writer can be faster than the slowest. The disk is a real
 * one: a disk in memory is these cores copying, so that what "write alone" costs could not happen beside anything else (decision 063).
 */
export class CeilingRounds {
  readonly #workspace: Workspace;
  readonly #ours: Writer;
  readonly #runs: Record<Stage, number[]> = { download: [], decompress: [], write: [], chunked: [] };
  #isEqual = true;

  constructor(workspace: Workspace, ours: Writer) {
    this.#workspace = workspace;
    this.#ours = ours;
  }

  async measure(): Promise<void> {
    const { url, folder, sizes, freshDisk } = this.#workspace;
    const blob = join(folder, 'chunked.zst');
    this.#add('download', await measure(`curl -sf ${url}/chunked.zst -o /dev/null`));
    // all cores: two processes, each with every frame, so half of their time is what two threads would need
    const twice = `(zstd -qdc ${blob} > /dev/null & zstd -qdc ${blob} > /dev/null; wait)`;
    this.#add('decompress', await measure(twice), 2);
    this.#add('write', await measure(writeAlone(join(folder, 'disk.raw'), freshDisk(sizes.big), sizes.big)));
    const target = freshDisk(sizes.big);
    this.#add('chunked', await measure(this.#ours({ sources: [`${url}/chunked.zst`], target })));
    this.#isEqual &&= isEqual(join(folder, 'disk.raw'), target, sizes.big);
  }

  get result(): Ceiling {
    const { download, decompress, write, chunked } = this.#runs;
    return {
      download: median(download),
      decompress: median(decompress),
      write: median(write),
      chunked: median(chunked),
      isEqual: this.#isEqual,
    };
  }

  #add(stage: Stage, { wallSeconds }: Measurement, times = 1): void {
    this.#runs[stage].push(wallSeconds / times);
  }
}

/** What holds data is written, from memory; the zeros are not. */
function writeAlone(raw: string, target: string, bytes: number): string {
  const count = Math.ceil(bytes / BLOCK / WRITERS);
  const parts = Array.from(
    { length: WRITERS },
    (_, i) =>
      `dd if=${raw} of=${target} bs=${BLOCK} skip=${i * count} seek=${i * count} count=${count} oflag=direct conv=fsync,sparse,notrunc status=none &`,
  );
  return `${parts.join(' ')} wait`;
}
