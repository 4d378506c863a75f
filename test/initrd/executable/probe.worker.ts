import ffi from 'node:ffi';
import { parentPort, workerData } from 'node:worker_threads';

const { functions } = ffi.dlopen(null, { ZSTD_versionNumber: { arguments: [], return: 'uint32' } });
parentPort?.postMessage({
  answer: 2 ** (workerData as { power: number }).power,
  zstdVersion: functions['ZSTD_versionNumber']?.(),
});
