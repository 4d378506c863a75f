import path from 'node:path';
import { EFIVARS, efivarfsFileName } from '../../formats/efi/variables.ts';
import { fileExists } from '../../system/file-exists.ts';
import { type MountContext, mountOn } from './mount.ts';

/** efivarfs, mounted if need be; undefined on a machine that booted by BIOS. */
export async function mountEfiVariables(context: MountContext): Promise<string | undefined> {
  if (!(await fileExists('/sys/firmware/efi'))) return undefined;
  const isMounted = await fileExists(path.join(EFIVARS, efivarfsFileName('BootOrder')));
  if (!isMounted) await mountOn(context, ['-t', 'efivarfs', 'efivarfs'], EFIVARS).catch(() => {});
  return EFIVARS;
}
