import type { MachineCode } from '../web-assembly.ts';
import { ChunkThread } from './chunk-thread.ts';
import type { BlockHeader } from './container.ts';
import { compileMachine } from './machine.ts';
import { leastWindow, planThreads } from './plan-threads.ts';
import { type FilteredPart, UndoFilters } from './undo-filters.ts';

/** The threads that decode a file. How large they have to be is known when its first block has come. */
export class Crew {
  readonly #code: MachineCode = compileMachine();
  readonly #plan: typeof planThreads;
  #threads: ChunkThread[] = [];
  #windowBytes = 0;
  #filters: UndoFilters | undefined;

  constructor(plan = planThreads) {
    this.#plan = plan;
  }

  /** Can it decode this block as it is? */
  fits(block: BlockHeader): boolean {
    return this.#threads.length > 0 && leastWindow(block) <= this.#windowBytes;
  }

  /** Takes the place of the threads that were there; they must be idle. */
  async startFor(block: BlockHeader): Promise<void> {
    const plan = this.#plan(block);
    await this.stop();
    this.#windowBytes = plan.windowBytes;
    this.#threads = await Promise.all(
      Array.from({ length: plan.count }, () => ChunkThread.start(this.#code, plan)),
    );
  }

  /** Blocks are dealt in turn. The thread with the least to do, instead, was measured: no difference, with both cores free or one busy. */
  threadFor(block: number): ChunkThread {
    const thread = this.#threads[block % this.#threads.length];
    if (!thread) throw new Error('no thread decodes');
    return thread;
  }

  /** For blocks with more filters than LZMA2; in the coordinator's thread. */
  undoFilters(part: FilteredPart, bytes: Buffer): Buffer {
    this.#filters ??= new UndoFilters(this.#code);
    return this.#filters.undo(part, bytes);
  }

  /** Waits for what nobody will take any more; all threads are free then. */
  drain(): void {
    for (const thread of this.#threads) thread.drain();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stop()));
    this.#threads = [];
  }
}
