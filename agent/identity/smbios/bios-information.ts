import { type SmbiosStructure, stringAt } from './table.ts';

/** Type 0, DSP0134 3.6 section 7.1. */
export function parseBiosInformation(structure: SmbiosStructure) {
  return {
    vendor: stringAt(structure, 0x04),
    version: stringAt(structure, 0x05),
    releaseDate: stringAt(structure, 0x08),
  };
}
