import { type SmbiosStructure, stringAt } from './table.ts';

/** Type 3, DSP0134 3.6 section 7.4. */
export function parseChassis(structure: SmbiosStructure) {
  return { manufacturer: stringAt(structure, 0x04), serial: stringAt(structure, 0x07) };
}
