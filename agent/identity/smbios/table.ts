/**
 * The structures of the raw SMBIOS table (/sys/firmware/dmi/tables/DMI): DSP0134 3.6, section 6.1.2. Each is a formatted
 * area that starts with type, length and handle, followed by its strings, each ended by a NUL and the set by one more.
 */
export interface SmbiosStructure {
  type: number;
  handle: number;
  /** The formatted area, header included, so that offsets are those of the specification. */
  area: Buffer;
  strings: string[];
}

const END_OF_TABLE = 127;
const HEADER_BYTES = 4;
/** No real machine has more; a corrupt table must end. */
const MAX_STRUCTURES = 4096;

/** Reads as many whole structures as there are; a truncated or corrupt tail is left out. */
export function parseSmbiosTable(table: Buffer): SmbiosStructure[] {
  const structures: SmbiosStructure[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= table.length && structures.length < MAX_STRUCTURES) {
    const type = table.readUInt8(at);
    const length = table.readUInt8(at + 1);
    if (length < HEADER_BYTES || at + length > table.length) break;
    const { strings, end } = readStrings(table, at + length);
    structures.push({
      type,
      handle: table.readUInt16LE(at + 2),
      area: table.subarray(at, at + length),
      strings,
    });
    if (type === END_OF_TABLE) break;
    at = end;
  }
  return structures;
}

/** Section 6.1.3. A structure without strings still ends in two NULs. */
function readStrings(table: Buffer, start: number): { strings: string[]; end: number } {
  const strings: string[] = [];
  let at = start;
  while (at < table.length && table.readUInt8(at) !== 0) {
    const nul = table.indexOf(0, at);
    const stop = nul < 0 ? table.length : nul;
    strings.push(table.subarray(at, stop).toString('latin1'));
    at = stop + 1;
  }
  return { strings, end: strings.length === 0 ? at + 2 : at + 1 };
}

/** Byte, word, double word at an offset; undefined where an older, shorter structure does not reach. */
export function byteAt({ area }: SmbiosStructure, at: number): number | undefined {
  return at + 1 <= area.length ? area.readUInt8(at) : undefined;
}

export function wordAt({ area }: SmbiosStructure, at: number): number | undefined {
  return at + 2 <= area.length ? area.readUInt16LE(at) : undefined;
}

export function doubleWordAt({ area }: SmbiosStructure, at: number): number | undefined {
  return at + 4 <= area.length ? area.readUInt32LE(at) : undefined;
}

/** The string a field refers to by its number (from 1; 0 means none). */
export function stringAt(structure: SmbiosStructure, at: number): string | undefined {
  const number = byteAt(structure, at);
  return number ? structure.strings[number - 1]?.trim() || undefined : undefined;
}
