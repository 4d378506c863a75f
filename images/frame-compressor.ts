import type { Worker } from 'node:worker_threads';
import { KindlingError } from '../protocol/error.ts';
import { startWorker } from '../system/worker.ts';
import type { Frame, FrameAnswer, FrameOrder } from './frame.ts';

/** Compresses and hashes chunks on several threads. */
export class FrameCompressor {
  readonly #workers: Worker[];
  readonly #waiting = new Map<number, PromiseWithResolvers<Frame>>();
  #next = 0;

  constructor(threads: number) {
    this.#workers = Array.from({ length: threads }, () => this.#start());
  }

  compress(raw: Uint8Array, level: number): Promise<Frame> {
    const id = this.#next;
    this.#next += 1;
    const answer = Promise.withResolvers<Frame>();
    this.#waiting.set(id, answer);
    this.#workers[id % this.#workers.length]?.postMessage({ id, raw, level } satisfies FrameOrder);
    return answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(): Worker {
    const worker = startWorker('images/compress.worker.ts');
    worker.on('message', (answer: FrameAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ('failure' in answer) waiting?.reject(new KindlingError('KND_UNEXPECTED', answer.failure));
      else waiting?.resolve(answer);
    });
    worker.on('error', (error) => {
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    });
    return worker;
  }
}
