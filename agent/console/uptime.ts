import type { MachineFiles } from '../../system/machine-files.ts';

/** Seconds since the kernel started, as the kernel's own messages count them; unlike the clock it never jumps. */
export function uptimeSeconds(files: MachineFiles): number {
  return Number((files.text('/proc/uptime') ?? '0').split(' ')[0]);
}
