import { writeFileSync } from 'node:fs';
import {
  EFIVARS,
  efivarfsFileName,
  encodeEfivarfsFile,
  LINUX_CRASH_GUID,
} from '../../formats/efi/variables.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readEfiVariable } from '../inventory/efi-variables.ts';

/**
 * The vendor of Linux' crash records: variables of all others are immutable files in Linux from the next boot on
 * (fs/efivarfs/vars.c, variable_validate), and the Micro-OS has no program that changes that.
 */
const VENDOR = LINUX_CRASH_GUID;
/** Non-volatile, boot service access, run-time access. */
const ATTRIBUTES = 7;

/** The highest version of a site's config archive that this machine has started with; undefined without UEFI, and at first. */
export function readSeenVersion(files: MachineFiles, site: string): number | undefined {
  const value = readEfiVariable(files, nameOf(site), VENDOR);
  return value?.length === 8 ? Number(value.readBigUInt64LE()) : undefined;
}

/** False where the machine has no place to remember it: BIOS, or a firmware that takes nothing. */
export function rememberVersion(files: MachineFiles, site: string, version: number): boolean {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(BigInt(version));
  try {
    const file = files.path(`${EFIVARS}/${efivarfsFileName(nameOf(site), VENDOR)}`);
    writeFileSync(file, encodeEfivarfsFile(ATTRIBUTES, value));
    return true;
  } catch {
    return false;
  }
}

function nameOf(site: string): string {
  return `KindlingSite-${site}`;
}
