import { arch } from 'node:os';
import type { Cpu } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';

/** From /proc/cpuinfo: one paragraph per thread. */
export function readCpu(files: MachineFiles): Cpu {
  const threads = (files.text('/proc/cpuinfo') ?? '')
    .split(/\n\s*\n/)
    .map(parseParagraph)
    .filter((fields) => fields.has('processor'));
  const first = threads[0] ?? new Map<string, string>();
  const sockets = new Set(threads.map((fields) => fields.get('physical id') ?? '0'));
  const cores = new Set(
    threads.map(
      (fields, index) => `${fields.get('physical id') ?? '0'}/${fields.get('core id') ?? `t${index}`}`,
    ),
  );
  const vendor = first.get('vendor_id');
  return {
    model: first.get('model name') ?? first.get('Model') ?? 'unknown',
    ...(vendor ? { vendor } : {}),
    architecture: arch() === 'x64' ? 'x86_64' : arch() === 'arm64' ? 'aarch64' : arch(),
    sockets: Math.max(1, sockets.size),
    cores: Math.max(1, cores.size),
    threads: Math.max(1, threads.length),
    flags: (first.get('flags') ?? first.get('Features') ?? '').split(' ').filter(Boolean),
  };
}

function parseParagraph(paragraph: string): Map<string, string> {
  return new Map(
    paragraph.split('\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const];
    }),
  );
}
