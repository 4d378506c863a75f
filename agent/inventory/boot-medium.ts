import { guidAt } from '../../formats/guid.ts';
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
  const current = readEfiVariable(files, 'BootCurrent');
  const entryName =
    current && current.length >= 2
      ? `Boot${current.readUInt16LE(0).toString(16).toUpperCase().padStart(4, '0')}`
      : undefined;
  const entry = entryName ? readEfiVariable(files, entryName) : undefined;
  const fromEntry = entry ? partUuidOfLoadOption(entry) : undefined;
  const named = kernelArguments.all('kindling.medium');
  return {
    partUuids: [fromStub, fromEntry, ...named.map((name) => name.toLowerCase())].filter(
      (uuid) => uuid !== undefined,
    ),
    names: named,
  };
}

/** UEFI 2.10: load option (3.1.3), then device path nodes (10.3); a hard-drive node (10.3.5.1) carries the GPT GUID. */
export function partUuidOfLoadOption(option: Buffer): string | undefined {
  const DESCRIPTION = 6;
  const HARD_DRIVE = { type: 4, subType: 1, signature: 24, signatureType: 41, length: 42 };
  const GPT_SIGNATURE = 2;
  let at = DESCRIPTION;
  while (at + 2 <= option.length && option.readUInt16LE(at) !== 0) at += 2;
  at += 2;
  while (at + 4 <= option.length) {
    const type = option.readUInt8(at);
    const subType = option.readUInt8(at + 1);
    const length = option.readUInt16LE(at + 2);
    if (length < 4 || at + length > option.length) return undefined;
    const isHardDrive =
      type === HARD_DRIVE.type && subType === HARD_DRIVE.subType && length >= HARD_DRIVE.length;
    if (isHardDrive && option.readUInt8(at + HARD_DRIVE.signatureType) === GPT_SIGNATURE) {
      return guidAt(option, at + HARD_DRIVE.signature);
    }
    at += length;
  }
  return undefined;
}
