import type { RetryPolicy } from '../../../net/retry-window.ts';
import type { ErrorReport } from '../../../protocol/error.ts';
import type { Transport } from '../interface.ts';
import type { Target } from '../target/target.ts';
import type { WithheldMemory } from '../target/withheld.ts';
import type { ChunkTableMemory } from './chunk-table.ts';
import type { NeighborSettings } from './neighbors/neighbor-source.ts';

/** What every chunk worker is started with; the work list and its cursor are shared. */
export interface ChunkTask {
  table: ChunkTableMemory;
  target: Omit<Target, 'close'>;
  sources: readonly string[];
  /** What each source called its file when the first chunk was fetched. */
  etags: Readonly<Record<string, string>>;
  transport: Transport;
  /** Whom the main thread believes, where that matters: a thread of its own knows only the system's roots. */
  roots?: readonly string[];
  retry: RetryPolicy;
  targetIsZero: boolean;
  /** Pairs of chunk numbers: from, to (exclusive). */
  spans: SharedArrayBuffer;
  /** Int32: next span to take; negative when everybody is to stop. */
  cursor: SharedArrayBuffer;
  /** One block of float64 cells per worker. */
  figures: SharedArrayBuffer;
  /** What is withheld; before that is known, nothing is written. */
  withheld?: WithheldMemory;
  neighbors?: NeighborSettings;
  /** check: only compare what is there, and mark what is to be fetched. */
  phase: 'check' | 'write';
  workerIndex: number;
}

export const CHUNK_FIGURES = [
  'bytesFetched',
  'bytesRaw',
  'bytesWritten',
  'decodeMs',
  'diskWaitMs',
  'kept',
  'fromOrigin',
  'fromNeighbours',
] as const;
export type ChunkFigure = (typeof CHUNK_FIGURES)[number];

export type ChunkWorkerMessage =
  | { kind: 'log'; level: 'info' | 'warn'; message: string }
  /** A source failed, and is asked again or the next one is. */
  | { kind: 'retry'; message: string }
  | { kind: 'done' }
  | { kind: 'failed'; error: ErrorReport };

/** The figures of all workers, or of one. */
export class Figures {
  readonly memory: SharedArrayBuffer;
  readonly #cells: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#cells = new Float64Array(memory);
  }

  static forWorkers(count: number): Figures {
    return new Figures(new SharedArrayBuffer(count * CHUNK_FIGURES.length * 8));
  }

  get workers(): number {
    return this.#cells.length / CHUNK_FIGURES.length;
  }

  add(worker: number, name: ChunkFigure, amount: number): void {
    const at = worker * CHUNK_FIGURES.length + CHUNK_FIGURES.indexOf(name);
    this.#cells[at] = (this.#cells[at] ?? 0) + amount;
  }

  total(name: ChunkFigure): number {
    let sum = 0;
    for (let at = CHUNK_FIGURES.indexOf(name); at < this.#cells.length; at += CHUNK_FIGURES.length) {
      sum += this.#cells[at] ?? 0;
    }
    return sum;
  }
}
