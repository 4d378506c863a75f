import { readFileSync, statSync } from 'node:fs';
import { ensureMicroOs } from '../initrd/index.ts';
import { bootMachine } from '../lab/qemu/machine.ts';
import type { KernelSpec } from '../lab/qemu/machine-spec.ts';
import { microOsKernel, waitForStage } from '../lab/qemu/micro-os.ts';
import type { Bar, Row, RunBenchmark } from './benchmark.ts';

const MEGABYTE = 1_000_000;
const SIZE_LIMIT_MB = 50;
const SIZE_TARGET_MB = 36;
const MEMORY_LIMIT_MB = 384;
const BOOT_DEADLINE_MS = 120_000;

/** Published sizes of kernel and initramfs (or the whole download), in MB. None of them publishes boot times. */
const PEERS: readonly { name: string; totalMb: number; source: string }[] = [
  { name: 'HookOS (Tinkerbell), x86 tarball', totalMb: 180, source: 'tinkerbell/hook#225' },
  {
    name: 'CaptainOS (Tinkerbell), initramfs 88 + kernel 9.5',
    totalMb: 97.5,
    source: 'tinkerbell/captain README',
  },
  { name: 'Talos 1.7', totalMb: 80, source: 'siderolabs.com blog' },
  {
    name: 'metal-hammer 0.9.0, initrd 45 + kernel 6.06',
    totalMb: 51.1,
    source: 'metal-stack.io blog 2021/06',
  },
];

/** 1 sizes  2 a boot with 384 MB on each firmware, timed  3 the least memory that still works */
export const benchmarkMicroOs: RunBenchmark = async ({ say }) => {
  const { kernel, initramfs } = await ensureMicroOs('minimal', 'small');
  const totalMb = (statSync(kernel).size + statSync(initramfs).size) / MEGABYTE;
  const rows: Row[] = [
    { what: 'Kindling minimal: kernel', value: megabytes(statSync(kernel).size), unit: 'MB' },
    { what: 'Kindling minimal: initramfs', value: megabytes(statSync(initramfs).size), unit: 'MB' },
    { what: 'Kindling minimal: both', value: round(totalMb), unit: 'MB' },
    ...PEERS.map(({ name, totalMb: value, source }) => ({ what: name, value, unit: 'MB', note: source })),
  ];
  // with the kernel as it is shipped: what is measured is how a real machine starts
  const spec = { ...(await microOsKernel({ compression: 'small' })), unpacked: undefined };
  const bars: Bar[] = [
    bar('kernel + initramfs', `≤ ${SIZE_LIMIT_MB} MB`, `${round(totalMb)} MB`, totalMb <= SIZE_LIMIT_MB),
    bar(
      'kernel + initramfs, target',
      `≤ ${SIZE_TARGET_MB} MB`,
      `${round(totalMb)} MB`,
      totalMb <= SIZE_TARGET_MB,
    ),
  ];
  for (const firmware of ['seabios', 'ovmf'] as const) {
    say(`boots on ${firmware} with ${MEMORY_LIMIT_MB} MB`);
    const boot = await timeBoot(spec, MEMORY_LIMIT_MB, firmware);
    if (boot) rows.push(...boot.rows);
    const got = boot ? 'identity known' : 'it did not identify';
    bars.push(bar(`identifies on ${firmware}`, `with ${MEMORY_LIMIT_MB} MB`, got, boot !== undefined));
  }
  say('looks for the least memory that still identifies');
  rows.push({ what: 'least memory that identifies (BIOS)', value: await leastMemory(spec, say), unit: 'MB' });
  return { rows, bars };
};

/** Boots once; undefined if the identity was never known. Times count from the kernel's first line. */
async function timeBoot(
  kernel: KernelSpec,
  memoryMb: number,
  firmware: 'seabios' | 'ovmf',
): Promise<{ rows: Row[] } | undefined> {
  await using machine = await bootMachine({ firmware, memoryMb, kernel, nics: [{ model: 'virtio' }] });
  try {
    const options = { timeoutMs: BOOT_DEADLINE_MS };
    const start = await machine.console.waitFor(/Linux version/, options);
    const cpuAtStart = cpuSeconds(machine.pid);
    const row = (what: string, atMs: number) => ({
      what: `${firmware}: ${what}`,
      value: round((atMs - start.atMs) / 1000),
      unit: 's',
      note: `${round(cpuSeconds(machine.pid) - cpuAtStart)} s of CPU`,
    });
    const rows: Row[] = [];
    const agent = await waitForStage(machine, 'agent', options);
    rows.push(row('kernel start → first agent line', agent.atMs));
    const identity = await waitForStage(machine, 'identity', options);
    rows.push(row('kernel start → identity known', identity.atMs));
    return { rows };
  } catch {
    return undefined;
  }
}

/** Goes down in steps of 32 MB until the identity does not come any more. */
async function leastMemory(kernel: KernelSpec, say: (text: string) => void): Promise<number> {
  let least = MEMORY_LIMIT_MB;
  for (let memoryMb = MEMORY_LIMIT_MB - 32; memoryMb >= 64; memoryMb -= 32) {
    say(`boots with ${memoryMb} MB`);
    await using machine = await bootMachine({ memoryMb, kernel });
    const outcome = await waitForStage(machine, 'identity', {
      timeoutMs: BOOT_DEADLINE_MS / 2,
      failOn: /Kernel panic|Out of memory|KND_AGENT_DIED/,
    }).catch(() => undefined);
    if (!outcome) break;
    least = memoryMb;
  }
  return least;
}

/** User and system time QEMU has used: the same on a busy machine as on a quiet one. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function bar(name: string, want: string, got: string, ok: boolean): Bar {
  return { name, want, got, ok };
}

function megabytes(bytes: number): number {
  return round(bytes / MEGABYTE);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
