import type { Run } from '../../system/run.ts';

/**
 * Removes a device-mapper device and its node. No udev runs in the Micro-OS: unless it is told so, dmsetup leaves the node to udev, and what stays below
 * /dev/mapper looks like an open volume, or is another one as soon as the number is given out again.
 */
export async function removeMapping(run: Run, name: string): Promise<void> {
  await run('dmsetup', ['remove', '--retry', name], { env: { DM_DISABLE_UDEV: '1' } });
}
