import { availableParallelism, totalmem } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../../agent/system/worker.ts';
import { fromReport } from '../../error-report.ts';
import type { ChunkTask, ChunkWorkerMessage } from './chunk-task.ts';

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

export interface PoolOptions {
  task: Omit<ChunkTask, 'workerIndex' | 'cursor'>;
  onMessage: (message: ChunkWorkerMessage) => void;
  signal?: AbortSignal | undefined;
}

/** Runs one phase on all cores; ends when every worker is done, throws the first failure after all have stopped. */
export async function runWorkers({ task, onMessage, signal }: PoolOptions): Promise<void> {
  const cursor = new SharedArrayBuffer(4);
  const stop = () => Atomics.store(new Int32Array(cursor), 0, STOPPED);
  const failures: unknown[] = [];
  const workers: Worker[] = [];
  const onAbort = () => {
    failures.push(signal?.reason);
    stop();
    for (const worker of workers) worker.terminate();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const runOne = async (workerIndex: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const worker = startWorker('actions/image-writer/chunks/chunk.worker.ts', {
      workerData: { ...task, cursor, workerIndex } satisfies ChunkTask,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    workers.push(worker);
    let isDone = false;
    worker.on('message', (message: ChunkWorkerMessage) => {
      if (message.kind === 'done') isDone = true;
      if (message.kind === 'failed') failures.push(fromReport(message.error));
      if (message.kind === 'failed') stop();
      onMessage(message);
    });
    worker.on('error', (error) => failures.push(error));
    worker.on('exit', () => {
      if (!isDone && failures.length === 0)
        failures.push(new Error('a thread that writes chunks ended early'));
      if (!isDone) stop();
      resolve();
    });
    await promise;
  };
  try {
    signal?.throwIfAborted();
    await Promise.all(Array.from({ length: workerCount() }, (_, index) => runOne(index)));
    if (failures.length > 0) throw failures[0];
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
