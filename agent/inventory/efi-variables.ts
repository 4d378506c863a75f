import type { MachineFiles } from '../../system/machine-files.ts';

const EFI_GLOBAL = '8be4df61-93ca-11d2-aa0d-00e098032b8c';

/** The value of a UEFI variable through efivarfs, whose files start with four bytes of attributes. */
export function readEfiVariable(files: MachineFiles, name: string, vendor = EFI_GLOBAL): Buffer | undefined {
  const content = files.bytes(`/sys/firmware/efi/efivars/${name}-${vendor}`);
  return content && content.length > 4 ? content.subarray(4) : undefined;
}
