import { availableParallelism, totalmem } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { fromReport } from '../../../protocol/error-report.ts';
import { startWorker } from '../../../system/worker.ts';
import type { ChunkTask, ChunkWorkerMessage } from './chunk-task.ts';
import { ChunkWorker } from './chunk-worker.ts';

/** Far below zero, so that workers that still count up never come back to zero. */
const STOPPED = -(2 ** 30);
/** A worker needs about 32 MB; the whole agent has to stay below 300. */
const MAX_WORKERS = 6;
const SMALL_MEMORY = 1024 * 1024 * 1024;
/** For the garbage of its JavaScript, of which there is little: V8 would use up 16 MB before it looks for any. */
const YOUNG_MB = 2;

export function workerCount(): number {
  return Math.min(availableParallelism(), totalmem() < SMALL_MEMORY ? 2 : MAX_WORKERS);
}

export interface CrewOptions {
  task: Omit<ChunkTask, 'workerIndex' | 'cursor'>;
  onMessage: (message: ChunkWorkerMessage) => void;
  signal?: AbortSignal | undefined;
}

interface Thread {
  worker: Worker;
  ended: Promise<void>;
}

/**
 * The workers of one phase: this thread, and others. Those begin to start when the crew is made, which takes them 60 ms: it is
 * made before there is work. This thread is ready at once, and one thread less costs 5 % less CPU on two cores.
 */
export class ChunkCrew {
  readonly #isHere: boolean;
  readonly #threads: Thread[];
  readonly #cursor = new SharedArrayBuffer(4);
  readonly #failures: unknown[] = [];
  /** Ends what this thread waits for. */
  readonly #stopHere = new AbortController();

  /** With `isHere: false` this thread does other things: it serves neighbors. */
  constructor({ isHere }: { isHere: boolean }) {
    this.#isHere = isHere;
    this.#threads = Array.from({ length: workerCount() - (isHere ? 1 : 0) }, () => this.#startThread());
  }

  /** Runs one phase; ends when every worker is done, throws the first failure after all have stopped. */
  async run({ task, onMessage, signal }: CrewOptions): Promise<void> {
    const cursor = this.#cursor;
    const onAbort = () => {
      this.#fail(signal?.reason);
      this.dismiss();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      const work = this.#threads.map((thread, workerIndex) =>
        this.#runThread(thread, { ...task, cursor, workerIndex }, onMessage),
      );
      const workerIndex = this.#threads.length;
      if (this.#isHere) work.push(this.#runHere({ ...task, cursor, workerIndex }, onMessage));
      await Promise.all(work);
      if (this.#failures.length > 0) throw this.#failures[0];
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.dismiss();
    }
  }

  /** Ends the threads, also those that never got anything to do. */
  dismiss(): void {
    for (const { worker } of this.#threads) worker.terminate();
  }

  #startThread(): Thread {
    const worker = startWorker('actions/image-writer/chunks/chunk.worker.ts', {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => resolve());
    return { worker, ended: promise };
  }

  async #runThread(
    { worker, ended }: Thread,
    task: ChunkTask,
    onMessage: CrewOptions['onMessage'],
  ): Promise<void> {
    let isDone = false;
    worker.on('message', (message: ChunkWorkerMessage) => {
      if (message.kind === 'done') isDone = true;
      if (message.kind === 'failed') this.#fail(fromReport(message.error));
      onMessage(message);
    });
    worker.postMessage(task);
    await ended;
    if (!isDone) this.#fail(new Error('a thread that writes chunks ended early'));
  }

  async #runHere(task: ChunkTask, onMessage: CrewOptions['onMessage']): Promise<void> {
    try {
      await new ChunkWorker(task, onMessage, this.#stopHere.signal).run();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(reason: unknown): void {
    this.#failures.push(reason);
    Atomics.store(new Int32Array(this.#cursor), 0, STOPPED);
    this.#stopHere.abort();
  }
}
