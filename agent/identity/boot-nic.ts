import { parseMac } from '../../formats/mac-address.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';

/**
 * The MAC address of the NIC the machine booted from: our own key, then PXELINUX's and iPXE's BOOTIF (with a leading
 * hardware type), Tinkerbell's hw_addr, EMF's worker_id (a MAC there), at last iBFT, which iSCSI firmware leaves.
 */
export function readBootMac(files: MachineFiles, kernelArguments: KernelArguments): string | undefined {
  const bootif = kernelArguments.last('BOOTIF')?.replace(/^01[-:]/, '');
  const candidates = [
    kernelArguments.last('kindling.bootmac'),
    bootif,
    kernelArguments.last('hw_addr'),
    kernelArguments.last('worker_id'),
    files.text('/sys/firmware/ibft/ethernet0/mac'),
  ];
  for (const candidate of candidates) {
    const mac = parseMac(candidate ?? '');
    if (mac) return mac;
  }
  return undefined;
}
