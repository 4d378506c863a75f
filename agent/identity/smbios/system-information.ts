import { type SmbiosStructure, stringAt } from './table.ts';

/** Type 1, DSP0134 3.6 section 7.2. */
export function parseSystemInformation(
  structure: SmbiosStructure,
  version: { major: number; minor: number } | undefined,
) {
  return {
    manufacturer: stringAt(structure, 0x04),
    product: stringAt(structure, 0x05),
    serial: stringAt(structure, 0x07),
    uuid: uuidAt(structure, 0x08, version),
  };
}

/** Section 7.2.1: since 2.6 the first three fields are little-endian; before, all sixteen bytes are in order. */
function uuidAt(
  { area }: SmbiosStructure,
  at: number,
  version: { major: number; minor: number } | undefined,
) {
  if (area.length < at + 16) return undefined;
  const hex = area.subarray(at, at + 16).toString('hex');
  const plain = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    '-',
  );
  const isBigEndian =
    version !== undefined && (version.major < 2 || (version.major === 2 && version.minor < 6));
  return isBigEndian ? plain : swapUuid(plain);
}

/** The same UUID with its first three fields in the other byte order, as other tools may print it. */
export function swapUuid(uuid: string): string {
  const [first = '', second = '', third = '', ...rest] = uuid.split('-');
  const swap = (field: string) => Buffer.from(field, 'hex').reverse().toString('hex');
  return [swap(first), swap(second), swap(third), ...rest].join('-');
}
