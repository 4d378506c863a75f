import type { Memory } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readSmbios } from '../identity/firmware-tells.ts';
import { parseMemoryDevice } from '../identity/smbios/memory-device.ts';

const MEMORY_DEVICE = 17;

/** What the kernel can use, and the modules the firmware names. */
export function readMemory(files: MachineFiles): Memory {
  const kib = /^MemTotal:\s+(\d+) kB/m.exec(files.text('/proc/meminfo') ?? '')?.[1];
  return {
    totalBytes: Number(kib ?? 0) * 1024,
    modules: readSmbios(files)
      .filter(({ type }) => type === MEMORY_DEVICE)
      .map(parseMemoryDevice)
      .filter((module) => module !== undefined),
  };
}
