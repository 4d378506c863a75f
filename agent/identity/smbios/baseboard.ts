import { type SmbiosStructure, stringAt } from './table.ts';

/** Type 2, DSP0134 3.6 section 7.3. */
export function parseBaseboard(structure: SmbiosStructure) {
  return {
    manufacturer: stringAt(structure, 0x04),
    product: stringAt(structure, 0x05),
    version: stringAt(structure, 0x06),
    serial: stringAt(structure, 0x07),
  };
}
