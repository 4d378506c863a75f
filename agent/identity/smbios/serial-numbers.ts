import { type SmbiosStructure, stringAt } from './table.ts';

/** Types 2 (baseboard, section 7.3) and 3 (chassis, section 7.4) keep the serial number at the same place. */
export function parseSerialNumber(structure: SmbiosStructure): string | undefined {
  return stringAt(structure, 0x07);
}
