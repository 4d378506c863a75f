import type { Memory } from '../../../protocol/inventory.ts';
import { byteAt, doubleWordAt, type SmbiosStructure, stringAt, wordAt } from './table.ts';

const MIB = 1024 * 1024;

/** Table 78 of DSP0134 3.6: the types still met. */
const MEMORY_TYPES: Record<number, string> = {
  7: 'RAM',
  15: 'SDRAM',
  18: 'DDR',
  19: 'DDR2',
  24: 'DDR3',
  26: 'DDR4',
  27: 'LPDDR',
  29: 'LPDDR3',
  30: 'LPDDR4',
  34: 'DDR5',
  35: 'LPDDR5',
};

/** Type 17, DSP0134 3.6 section 7.18; undefined for an empty slot. */
export function parseMemoryDevice(structure: SmbiosStructure): Memory['modules'][number] | undefined {
  const sizeBytes = moduleSize(wordAt(structure, 0x0c), doubleWordAt(structure, 0x1c));
  if (sizeBytes === undefined) return undefined;
  const locator = stringAt(structure, 0x10);
  const type = MEMORY_TYPES[byteAt(structure, 0x12) ?? 0];
  const speedMtps = wordAt(structure, 0x15);
  const serial = stringAt(structure, 0x18);
  return {
    sizeBytes,
    ...(locator ? { locator } : {}),
    ...(type ? { type } : {}),
    ...(speedMtps && speedMtps !== 0xffff ? { speedMtps } : {}),
    ...(serial ? { serial } : {}),
  };
}

/** In MiB, or KiB if the top bit is set; 0x7fff means "see the extended size" (section 7.18.5). */
function moduleSize(size: number | undefined, extended: number | undefined): number | undefined {
  if (size === undefined || size === 0 || size === 0xffff) return undefined;
  if (size === 0x7fff) return extended === undefined ? undefined : (extended & 0x7fffffff) * MIB;
  return size & 0x8000 ? (size & 0x7fff) * 1024 : size * MIB;
}
