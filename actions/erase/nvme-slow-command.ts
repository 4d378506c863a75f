import type { ErrorReport } from '../../protocol/error.ts';
import { fromReport } from '../../protocol/error-report.ts';
import { startWorker } from '../../system/worker.ts';
import type { NvmeCommand } from './nvme-admin.ts';

export interface SlowCommand {
  device: string;
  command: NvmeCommand;
}

export interface SlowCommandAnswer {
  error?: ErrorReport;
}

/** Sends a command that may take minutes from a thread of its own: the call blocks, and the other disks are not to wait for this one. */
export async function sendSlowCommand(device: string, command: NvmeCommand): Promise<void> {
  const workerData: SlowCommand = { device, command };
  const worker = startWorker('actions/erase/nvme-command.worker.ts', { workerData });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.on('message', ({ error }: SlowCommandAnswer) => (error ? reject(fromReport(error)) : resolve()));
  worker.on('error', reject);
  worker.on('exit', () => reject(new Error(`the thread that talks to ${device} ended early`)));
  await promise;
}
