import { readFileSync, writeFileSync } from 'node:fs';
import type { Run } from '../../system/run.ts';
import { waitFor } from '../../system/wait.ts';

/** Leaves the Micro-OS: flush, unmount what actions may have left, then by the program, at last by the kernel's own key. */
export async function leave(how: 'reboot' | 'poweroff', run: Run): Promise<never> {
  const attempt = async (program: string, args: string[]) => {
    await run(program, args, { timeoutMs: 20_000 }).catch(() => {});
  };
  await attempt('sync', []);
  for (const folder of mountedBelow('/mnt', '/tmp', '/run/kindling')) await attempt('umount', ['-l', folder]);
  await attempt(how, ['-f']);
  // A driver that hangs in its shutdown can keep the system call from returning; sysrq goes around the drivers.
  for (const key of ['s', 'u', how === 'reboot' ? 'b' : 'o']) {
    try {
      writeFileSync('/proc/sysrq-trigger', key);
    } catch {
      // not compiled in
    }
  }
  return waitFor<never>(() => undefined, {
    name: how,
    timeoutMs: Number.POSITIVE_INFINITY,
    intervalMs: 60_000,
  });
}

function mountedBelow(...folders: string[]): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)))
    .reverse();
}
