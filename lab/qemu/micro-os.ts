import { type Compression, ensureMicroOs, type Profile, ROOT_ARGUMENTS } from '../../initrd/index.ts';
import type { ConsoleWaitOptions } from './console.ts';
import type { Machine } from './machine.ts';
import type { KernelSpec } from './machine-spec.ts';
import { unpackKernel } from './unpack-kernel.ts';

/**
 * For every kernel that starts under QEMU's translator; the product never asks for these. A busy host may give the machine no time for so long that the
 * kernel misses ten ticks of its timer, takes that for broken ("IO-APIC + timer doesn't work") and panics. And what guards a processor against
 * other programs costs a fifth of every program start where it is emulated. And the clock is right, however long a read of it takes: a kernel that
 * doubts it goes over to one that costs a way out of the emulation at each read.
 */
export const LAB_KERNEL_ARGUMENTS: readonly string[] = ['no_timer_check', 'mitigations=off', 'tsc=reliable'];

/** For `failOn`: the Micro-OS has given up, or its kernel. */
export const GAVE_UP = /KINDLING-FATAL|Kernel panic - not syncing/;

/** The Micro-OS as the kernel of a machine, built first where the cache does not hold it; `cmdline` is added to ours. */
export async function microOsKernel(
  options: { profile?: Profile; compression?: Compression; cmdline?: string } = {},
): Promise<KernelSpec> {
  const { kernel, initramfs } = await ensureMicroOs(options.profile ?? 'minimal', options.compression);
  const lab = ['console=ttyS0,115200', 'panic=-1', ...LAB_KERNEL_ARGUMENTS];
  const cmdline = [ROOT_ARGUMENTS, ...lab, options.cmdline ?? ''].join(' ').trim();
  return { kernel, unpacked: await unpackKernel(kernel), initrd: initramfs, cmdline };
}

/** Values that the kernel command line cannot carry as they are (spaces, quotes) travel in base64url. */
const PLAIN_VALUE = /^[\w.,:;/@%+=?&~^*()[\]{}!$-]*$/;
const KERNEL_LINE_LIMIT = 2048;

/** The kernel command line that makes the Micro-OS run one action, print `KINDLING-RESULT {json}` and power off. */
export function actionCommandLine(action: string, variables: Record<string, string>): string {
  const words = Object.entries(variables).map(([name, value]) => {
    const isPlain = PLAIN_VALUE.test(value) && !value.startsWith('base64url:');
    return `kindling.set.${name}=${isPlain ? value : `base64url:${Buffer.from(value).toString('base64url')}`}`;
  });
  return [`kindling.action=${action}`, ...words].join(' ');
}

/** The kernel cuts a longer command line off without a word. */
export function fitsKernelLine(cmdline: string): boolean {
  return Buffer.byteLength(cmdline) < KERNEL_LINE_LIMIT;
}

/** What the Micro-OS tells programs when a stage of its boot is reached: `KINDLING-STAGE {"stage":"identity",…}`. */
export interface StageReport {
  atMs: number;
  facts: Record<string, unknown>;
}

/** Waits until the Micro-OS reports a stage (agent/console/stage.ts names them). */
export async function waitForStage(
  machine: Machine,
  stage: string,
  options: ConsoleWaitOptions = {},
): Promise<StageReport> {
  // Up to the last fact of every marker: a console line may come in pieces.
  const pattern = new RegExp(`KINDLING-STAGE (\\{"stage":"${stage}".*"uptime":[\\d.]+\\})`);
  const { groups, atMs } = await machine.console.waitFor(pattern, options);
  return { atMs, facts: JSON.parse(groups[1] ?? '{}') as Record<string, unknown> };
}
