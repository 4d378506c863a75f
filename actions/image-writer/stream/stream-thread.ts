import type { Worker } from 'node:worker_threads';
import { fromReport } from '../../../protocol/error-report.ts';
import { startWorker } from '../../../system/worker.ts';
import type { Withheld } from '../target/withheld.ts';
import type { GateAnswer, StreamResult, StreamTask, StreamWorkerMessage } from './stream-task.ts';

/** The thread that decodes and writes, seen from the one that downloads. */
export class StreamThread {
  readonly #worker: Worker;
  readonly #head = Promise.withResolvers<Buffer>();
  readonly #done = Promise.withResolvers<StreamResult>();

  constructor(workerData: StreamTask) {
    this.#worker = startWorker('actions/image-writer/stream/stream.worker.ts', { workerData });
    this.#worker.on('message', (message: StreamWorkerMessage) => this.#hear(message));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the thread that writes ended early')));
    // the one that is waited for must reject, even if nobody waits for the other
    this.#head.promise.catch(() => {});
    this.#done.promise.catch(() => {});
  }

  /** The first bytes of the disk. Nothing is written before `open`. */
  get head(): Promise<Buffer> {
    return this.#head.promise;
  }

  /** Settles when everything is written but what is withheld. */
  get done(): Promise<StreamResult> {
    return this.#done.promise;
  }

  open(withheld: Withheld): void {
    const answer: GateAnswer = { withheld: withheld.memory };
    this.#worker.postMessage(answer);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #hear(message: StreamWorkerMessage): void {
    if (message.kind === 'head') this.#head.resolve(Buffer.from(message.head));
    else if (message.kind === 'done') this.#done.resolve(message);
    else this.#fail(fromReport(message.error));
  }

  #fail(reason: unknown): void {
    this.#head.reject(reason);
    this.#done.reject(reason);
  }
}
