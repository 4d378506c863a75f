import type { MachineFiles } from '../../system/machine-files.ts';
import { content } from './files-in-order.ts';
import { formatSize } from './size.ts';

const FOLDER = '/sys/devices/system/memory';

/** Undefined where the kernel tells nothing. Without memory blocks in /sys the total is what is usable. */
export function readMemory(files: MachineFiles): { total: string; usable: string } | undefined {
  const kib = /^MemTotal:\s+(\d+) kB/m.exec(files.text('/proc/meminfo') ?? '')?.[1];
  const usable = Number(kib ?? 0) * 1024;
  if (usable === 0) return undefined;
  return { total: formatSize(onlineBytes(files) || usable), usable: formatSize(usable) };
}

function onlineBytes(files: MachineFiles): number {
  const blockBytes = Number.parseInt(content(files, `${FOLDER}/block_size_bytes`) ?? '0', 16);
  const isOnline = (block: string) => content(files, `${FOLDER}/${block}/state`) === 'online';
  return files.names(FOLDER).filter((name) => /memory\d+$/.test(name) && isOnline(name)).length * blockBytes;
}
