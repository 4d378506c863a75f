import { hardDriveOf } from '../../formats/efi/device-path.ts';
import { decodeLoadOption } from '../../formats/efi/load-option.ts';
import { bootEntryName, decodeEntryNumbers } from '../../formats/efi/variables.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readEfiVariable } from './efi-variables.ts';

/** Ways to recognize the medium the Micro-OS was loaded from. Network boot leaves none. */
export interface BootMedium {
  /** GPT partition GUIDs, lower case. */
  partUuids: string[];
  /** File-system or partition labels and UUIDs. */
  names: string[];
}

const SYSTEMD_LOADER = '4a67b082-0a4c-41cf-b6c7-440b29bb8c4f';

/**
 * From the stub of the UKI (LoaderDevicePartUUID), the firmware's boot entry (BootCurrent), and `kindling.medium=`, which
 * the USB stick's own boot menu sets to its label or partition UUID.
 */
export function readBootMedium(files: MachineFiles, kernelArguments: KernelArguments): BootMedium {
  const fromStub = readEfiVariable(files, 'LoaderDevicePartUUID', SYSTEMD_LOADER)
    ?.toString('utf16le')
    .replaceAll('\0', '')
    .toLowerCase();
  const [current] = decodeEntryNumbers(readEfiVariable(files, 'BootCurrent'));
  const entry = current === undefined ? undefined : readEfiVariable(files, bootEntryName(current));
  const fromEntry = entry ? partUuidOfLoadOption(entry) : undefined;
  const named = kernelArguments.all('kindling.medium');
  return {
    partUuids: [fromStub, fromEntry, ...named.map((name) => name.toLowerCase())].filter(
      (uuid) => uuid !== undefined,
    ),
    names: named,
  };
}

/** The GPT partition that a boot entry starts from. */
export function partUuidOfLoadOption(option: Buffer): string | undefined {
  return hardDriveOf(decodeLoadOption(option)?.devicePath ?? [])?.partUuid;
}
