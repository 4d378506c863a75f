import { readFileSync, writeFileSync } from 'node:fs';
import type { HandOver } from '../protocol/action-events.ts';
import { KindlingError } from '../protocol/error.ts';
import { type Run, run } from './run.ts';
import { pause, waitFor } from './wait.ts';

/** What leaving needs of the machine; tests pass their own. */
export interface MachineToLeave {
  run: Run;
  /** The text of /proc/self/mounts. */
  mounts(): string;
  /** Presses one of the kernel's own keys. */
  sysrq(key: string): void;
}

export interface LeaveOptions {
  /** How long each program may take. */
  deadlineMs?: number;
  signal?: AbortSignal;
}

/** Where the agent and its actions mount things. */
const OUR_MOUNTS = ['/mnt', '/tmp', '/run/kindling'];

/** `-f`: the Micro-OS has no service manager that would have to stop anything first. */
const PROGRAMS: Record<HandOver['kind'], [program: string, args: string[]]> = {
  reboot: ['reboot', ['-f']],
  poweroff: ['poweroff', ['-f']],
  kexec: ['kexec', ['-e']],
};

/**
 * The one way out of the Micro-OS: 1 flush  2 unmount what actions may have left  3 the program  4 the kernel's own key.
 * No step can hold up the next: a disk that no longer answers keeps `sync` for ever, and a driver that hangs in its shutdown keeps
 * `reboot` for ever. Throws only if `kexec` refuses, because then the machine is still as it was.
 */
export async function leaveMicroOs(
  how: HandOver['kind'],
  machine: MachineToLeave = THIS_MACHINE,
  { deadlineMs = 20_000, signal }: LeaveOptions = {},
): Promise<never> {
  const attempt = (program: string, args: readonly string[]) =>
    withDeadline(machine.run, program, args, deadlineMs);
  await attempt('sync', []);
  for (const folder of ourMounts(machine.mounts())) await attempt('umount', ['-l', folder]);
  const refusal = await attempt(...PROGRAMS[how]);
  if (how === 'kexec' && refusal && refusal.code !== 'KND_TIMEOUT') throw refusal;
  for (const key of ['s', 'u', how === 'poweroff' ? 'o' : 'b']) machine.sysrq(key);
  return waitFor<never>(() => undefined, {
    name: `the ${how}`,
    timeoutMs: Number.POSITIVE_INFINITY,
    intervalMs: 60_000,
    ...(signal ? { signal } : {}),
  });
}

/** The runner's own deadline kills the program; one that hangs in the kernel does not die of that, so it is left behind. */
async function withDeadline(
  run: Run,
  program: string,
  args: readonly string[],
  deadlineMs: number,
): Promise<KindlingError | undefined> {
  const isOver = new AbortController();
  try {
    return await Promise.race([
      run(program, args, { timeoutMs: deadlineMs }).then(
        () => undefined,
        (thrown) => (thrown instanceof KindlingError ? thrown : undefined),
      ),
      pause(deadlineMs + 500, isOver.signal).then(
        () => new KindlingError('KND_TIMEOUT', `${program} hangs in the kernel`),
      ),
    ]);
  } finally {
    isOver.abort();
  }
}

/** The last mounted first. */
function ourMounts(mounts: string): string[] {
  return mounts
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => OUR_MOUNTS.some((folder) => path.startsWith(`${folder}/`)))
    .reverse();
}

const THIS_MACHINE: MachineToLeave = {
  run,
  mounts: () => readFileSync('/proc/self/mounts', 'utf8'),
  sysrq(key) {
    try {
      writeFileSync('/proc/sysrq-trigger', key);
    } catch {
      // not compiled in
    }
  },
};
