import { parentPort, workerData } from 'node:worker_threads';
import { toErrorReport } from '../../../protocol/error.ts';
import type { ChunkTask, ChunkWorkerMessage } from './chunk-task.ts';
import { ChunkWorker } from './chunk-worker.ts';

if (parentPort) {
  const port = parentPort;
  const say = (message: ChunkWorkerMessage) => port.postMessage(message);
  const task = workerData as ChunkTask;
  if (task.roots) process.getBuiltinModule('node:tls').setDefaultCACertificates(task.roots);
  new ChunkWorker(task, say)
    .run()
    .then(
      () => say({ kind: 'done' }),
      (thrown: unknown) => say({ kind: 'failed', error: toErrorReport(thrown) }),
    )
    .finally(() => port.close());
}
