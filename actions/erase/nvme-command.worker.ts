import { parentPort, workerData } from 'node:worker_threads';
import { toErrorReport } from '../../protocol/error.ts';
import { adminCommand } from './nvme-admin.ts';
import type { SlowCommand, SlowCommandAnswer } from './nvme-slow-command.ts';

/** One command to one drive; the thread is blocked until the drive has answered. */
if (parentPort) {
  const { device, command } = workerData as SlowCommand;
  let answer: SlowCommandAnswer = {};
  try {
    adminCommand(device, command);
  } catch (thrown) {
    answer = { error: toErrorReport(thrown) };
  }
  parentPort.postMessage(answer);
}
