import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { cleanUpAtExit } from '../clean-up.ts';

export interface Measurement {
  wallSeconds: number;
  /** User and system time of the command and all of its children. */
  cpuSeconds: number;
  /** Highest sum of the resident memory of all its processes, sampled. */
  peakRssMb: number;
  stdout: string;
}

const SAMPLE_MS = 50;
/** Longer than any of them takes on a loaded machine; a program that hangs must not hang the benchmark. */
const DEADLINE_MS = 120_000;
const PAGE = 4096;

/** Runs a shell command in a process group of its own and measures all of it. */
export async function measure(command: string): Promise<Measurement> {
  const script = `set -o pipefail; TIMEFORMAT='KINDLING-TIME %R %U %S'; time { ${command}; }`;
  const child = spawn('bash', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const killGroup = () => process.kill(-(child.pid ?? 0), 'SIGKILL');
  const isUndone = cleanUpAtExit(killGroup);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text: Buffer) => {
    stdout += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    stderr += text.toString();
  });
  let peakRssMb = 0;
  const groupRssMb = watchGroup(child.pid ?? 0);
  const sampler = setInterval(() => {
    peakRssMb = Math.max(peakRssMb, groupRssMb());
  }, SAMPLE_MS);
  const deadline = setTimeout(killGroup, DEADLINE_MS);
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(sampler);
  clearTimeout(deadline);
  isUndone();
  const time = /KINDLING-TIME ([\d.]+) ([\d.]+) ([\d.]+)/.exec(stderr);
  if (exitCode !== 0 || !time) {
    throw new KindlingError(
      'KND_COMMAND_FAILED',
      `${command} ended with exit code ${exitCode}: ${stderr.trim().slice(-400)}`,
    );
  }
  return {
    wallSeconds: Number(time[1]),
    cpuSeconds: Number(time[2]) + Number(time[3]),
    peakRssMb: Math.round(peakRssMb),
    stdout,
  };
}

/** Looks once at each process that is not of the group: all of them twenty times a second would take 4 % of two cores from what is measured. */
function watchGroup(group: number): () => number {
  const others = new Set<string>();
  return () => {
    let pages = 0;
    for (const pid of readdirSync('/proc')) {
      if (!/^\d+$/.test(pid) || others.has(pid)) continue;
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
          .replace(/^.*\) /s, '')
          .split(' ');
        if (Number(fields[2]) === group) pages += Number(fields[21]);
        else others.add(pid);
      } catch {
        // it ended meanwhile
      }
    }
    return (pages * PAGE) / 2 ** 20;
  };
}

/** Bit for bit; a loop device by the file behind it, which is ten times faster than through the device. */
export function isEqual(image: string, target: string, bytes: number): boolean {
  const name = basename(target);
  const isLoop = name.startsWith('loop');
  if (isLoop) execFileSync('blockdev', ['--flushbufs', target]);
  const file = isLoop ? readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim() : target;
  return spawnSync('cmp', ['-n', String(bytes), image, file]).status === 0;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = 0, high = 0] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]];
  return (low + high) / 2;
}
