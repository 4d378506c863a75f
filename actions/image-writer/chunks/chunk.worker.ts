import { parentPort } from 'node:worker_threads';
import { toErrorReport } from '../../../protocol/error.ts';
import type { ChunkTask, ChunkWorkerMessage } from './chunk-task.ts';
import { ChunkWorker } from './chunk-worker.ts';

// the task comes when there is one: the thread is started while the first chunk is still being looked at
parentPort?.once('message', async (task: ChunkTask) => {
  const say = (message: ChunkWorkerMessage) => parentPort?.postMessage(message);
  try {
    if (task.roots) process.getBuiltinModule('node:tls').setDefaultCACertificates(task.roots);
    await new ChunkWorker(task, say).run();
    say({ kind: 'done' });
  } catch (thrown) {
    say({ kind: 'failed', error: toErrorReport(thrown) });
  }
  parentPort?.close();
});
