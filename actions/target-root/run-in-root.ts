import type { ActionContext } from '../contract/action.ts';
import { lineLogger } from '../contract/line-logger.ts';

/** Runs a shell command of the mounted system inside it; what it prints goes to the log. */
export async function runInRoot(context: ActionContext, root: string, command: string): Promise<void> {
  const logger = lineLogger(context);
  await context
    .run('chroot', [root, '/bin/sh', '-c', command], {
      env: {
        DEBIAN_FRONTEND: 'noninteractive',
        PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
        LC_ALL: 'C',
        // No udev runs in the Micro-OS; without this device-mapper programs would wait for it.
        DM_DISABLE_UDEV: '1',
      },
      onOutput: logger.onOutput,
    })
    .finally(logger.end);
}
