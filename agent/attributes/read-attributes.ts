import type { MachineFiles } from '../../system/machine-files.ts';
import type { Attributes } from '../workflow/tink-current.ts';
import { readBlockDevices } from './block-devices.ts';
import { readFirmwareWords } from './firmware-words.ts';
import { readMemory } from './memory.ts';
import { readNetworkInterfaces } from './network-interfaces.ts';
import { readGpus, readPciDevices } from './pci-devices.ts';
import { readProcessors } from './processors.ts';

/**
 * What tink-agent 0.25 would say of this machine: rules of enrollment match on its words. It takes them from the library ghw,
 * so every reader here follows that one, order and oddities included (docs/background/agent-attributes.md).
 */
export function readAttributes(files: MachineFiles): Attributes {
  const memory = readMemory(files);
  return {
    cpu: readProcessors(files),
    ...(memory ? { memory } : {}),
    block: readBlockDevices(files),
    network: readNetworkInterfaces(files),
    pci: readPciDevices(files),
    gpu: readGpus(files),
    ...readFirmwareWords(files),
  };
}
