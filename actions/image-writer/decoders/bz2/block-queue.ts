import type { BlockThread, DecodedBlock } from './block-thread.ts';
import { MAX_INPUT, NEEDS_MORE, SLOTS } from './layout.ts';
import type { Window } from './window.ts';

interface Job {
  /** Where in the file the block begins. */
  bit: number;
  /** Its bytes end where the file or a block at most ends, not at the next mark. */
  isWhole: boolean;
  thread: BlockThread;
  slot: number;
}

export interface TakenBlock extends DecodedBlock {
  /** Where in the file the block ends. */
  end: number;
  thread: BlockThread;
  slot: number;
}

/**
 * Has blocks decoded ahead, on the guess that each lies between two marks. What the guess was worth is seen when a block's turn comes: it begins
 * where the one before it ended, or it is not a block; and one that goes on behind its mark is decoded again with all it may need.
 */
export class BlockQueue {
  readonly #file: Window;
  readonly #threads: readonly BlockThread[];
  readonly #jobs: Job[] = [];
  #submitted = 0;

  constructor(file: Window, threads: readonly BlockThread[]) {
    this.#file = file;
    this.#threads = threads;
  }

  /** The block that begins at this bit, where there is a mark; the one taken before must have been released. */
  take(bit: number): TakenBlock {
    for (;;) {
      this.#submitAhead(bit);
      const [job] = this.#jobs;
      if (!job) {
        if (!this.#file.fill(true) && this.#file.marks.length === 0) throw new Error('a mark was overlooked');
        continue;
      }
      const { thread, slot } = job;
      const decoded = thread.wait(slot);
      if (job.bit < bit) this.release();
      else if (decoded.status === NEEDS_MORE && !job.isWhole) this.#decodeAgain(job);
      else return { ...decoded, end: job.bit - (job.bit % 8) + decoded.endBit, thread, slot };
    }
  }

  /** Done with the oldest block. */
  release(): void {
    const job = this.#jobs.shift();
    job?.thread.release(job.slot);
  }

  /** Waits for what nobody will take any more; the threads are free then. */
  drain(): void {
    for (const { thread, slot } of this.#jobs) thread.wait(slot);
    while (this.#jobs.length > 0) this.release();
  }

  #submitAhead(bit: number): void {
    const { marks } = this.#file;
    while (this.#jobs.length < this.#threads.length * SLOTS) {
      while (marks[0] && (marks[0].isEnd || marks[0].bit < bit)) marks.shift();
      const [first, second] = marks;
      const from = first ? Math.floor(first.bit / 8) : 0;
      const isWhole = this.#file.hasEnded || this.#file.end - from >= MAX_INPUT;
      if (first && (second || isWhole)) {
        marks.shift();
        this.#submit(first.bit, second ? Math.ceil(second.bit / 8) : undefined);
      } else if (!this.#file.fill(false)) {
        return;
      }
    }
  }

  /** Blocks are taken in order, so the slots can take turns. */
  #submit(bit: number, cut: number | undefined): void {
    const turn = this.#submitted % this.#threads.length;
    const slot = Math.floor(this.#submitted / this.#threads.length) % SLOTS;
    const thread = this.#threads[turn];
    if (!thread) throw new Error('no thread decodes');
    this.#submitted += 1;
    const job = { bit, isWhole: cut === undefined, thread, slot };
    this.#jobs.push(job);
    this.#give(job, cut);
  }

  #decodeAgain(job: Job): void {
    this.#file.reach(Math.floor(job.bit / 8) + MAX_INPUT);
    job.isWhole = true;
    this.#give(job, undefined);
  }

  #give({ bit, thread, slot }: Job, cut: number | undefined): void {
    const from = Math.floor(bit / 8);
    const to = Math.min(cut ?? this.#file.end, from + MAX_INPUT);
    thread.submit(slot, this.#file.bytes(from, to), bit % 8);
  }
}
