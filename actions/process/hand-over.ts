import type { HandOver } from '../../protocol/action-events.ts';
import { run } from '../../system/run.ts';

/** Leaves the Micro-OS. Called by the agent when the server has acknowledged the last success. */
export async function handOver(how: HandOver): Promise<void> {
  await run('sync', []);
  // -f: there is no service manager in the Micro-OS that would have to stop anything first.
  if (how.kind === 'reboot') await run('reboot', ['-f']);
  else if (how.kind === 'poweroff') await run('poweroff', ['-f']);
  else await run('kexec', ['-e']);
}
