import { getAsset, isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts a worker thread from one of our own files, from the sources as well as from inside the one-file executable.
 * The file is named by its path in the repository and must end in `.worker.ts`: the build finds such files
 * (initrd/executable/bundle.ts), bundles each with all it imports, and puts it into the executable.
 *
 *     startWorker('actions/image-writer/decompress.worker.ts', { workerData })
 *
 * In the worker `import { parentPort, workerData } from 'node:worker_threads'` works as always, and so do
 * node:ffi and SharedArrayBuffers. No top-level await (the bundle is CommonJS).
 */
export function startWorker(path: `${string}.worker.ts`, options: WorkerOptions = {}): Worker {
  if (isSea()) return new Worker(getAsset(path, 'latin1'), { ...options, eval: true });
  return new Worker(new URL(`../${path}`, import.meta.url), options);
}
