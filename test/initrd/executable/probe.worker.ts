import { once } from 'node:events';
import ffi from 'node:ffi';
import { parentPort, workerData } from 'node:worker_threads';
import { startWorker } from '../../../system/worker.ts';

/** Threads start threads: the one that writes an image starts those that decode it. */
async function answer(power: number): Promise<void> {
  const { functions } = ffi.dlopen(null, { ZSTD_versionNumber: { arguments: [], return: 'uint32' } });
  const fromItsOwn: unknown[] =
    power > 1
      ? await once(
          startWorker('test/initrd/executable/probe.worker.ts', { workerData: { power: 1 } }),
          'message',
        )
      : [];
  parentPort?.postMessage({
    answer: 2 ** power,
    zstdVersion: functions['ZSTD_versionNumber']?.(),
    fromItsOwn,
  });
}

answer((workerData as { power: number }).power);
