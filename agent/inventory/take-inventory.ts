import type { Inventory } from '../../protocol/inventory.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { type GivenIdentity, identify } from '../identity/identify.ts';
import { readBootMedium } from './boot-medium.ts';
import { readCpu } from './cpu.ts';
import { readDisks } from './disks.ts';
import { readFirmware, readTpm } from './firmware.ts';
import { readMemory } from './memory.ts';
import { readNics } from './nics.ts';
import { readPciDevices } from './pci.ts';

/** What this machine is made of, read from /sys, /proc and the disks themselves; no program is started. */
export async function takeInventory(
  files: MachineFiles,
  kernelArguments: KernelArguments,
  given: GivenIdentity = {},
): Promise<Inventory> {
  const identity = identify(files, kernelArguments, given);
  const tpm = readTpm(files);
  return {
    identity,
    cpu: readCpu(files),
    memory: readMemory(files),
    disks: await readDisks(files, readBootMedium(files, kernelArguments)),
    nics: readNics(files, identity.bootMac),
    pci: readPciDevices(files),
    firmware: readFirmware(files),
    ...(tpm ? { tpm } : {}),
  };
}
