import { EFIVARS, efivarfsFileName, efivarfsValue } from '../../formats/efi/variables.ts';
import type { MachineFiles } from '../../system/machine-files.ts';

/** The value of a UEFI variable through efivarfs; undefined where there is none. */
export function readEfiVariable(files: MachineFiles, name: string, vendor?: string): Buffer | undefined {
  const content = files.bytes(`${EFIVARS}/${efivarfsFileName(name, vendor)}`);
  const value = content && efivarfsValue(content);
  return value && value.length > 0 ? value : undefined;
}
