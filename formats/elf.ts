import { KindlingError } from '../protocol/error.ts';

/** One program header (ELF-64, figure 6 of the System V ABI: type, flags, offset, vaddr, paddr, filesz, memsz, align). */
export interface Segment {
  type: number;
  flags: number;
  offset: number;
  virtualAddress: number;
  fileSize: number;
  memorySize: number;
}

export const SEGMENT = { LOAD: 1, DYNAMIC: 2, INTERPRETER: 3, PROGRAM_HEADERS: 6 } as const;
export const FLAG = { EXECUTE: 1, WRITE: 2, READ: 4 } as const;
export const DYNAMIC = {
  END: 0,
  NEEDED: 1,
  STRING_TABLE: 5,
  VERSION_NEEDED: 0x6ffffffe,
  VERSION_NEEDED_COUNT: 0x6fffffff,
} as const;

const PROGRAM_HEADER_SIZE = 56;
const DYNAMIC_ENTRY_SIZE = 16;

/** What the build needs to know of an x86-64 ELF file. Addresses fit a JavaScript number: user space ends at 2^47. */
export interface Elf {
  bytes: Buffer;
  /** True for ET_EXEC: its addresses are final. False for ET_DYN: libraries and position-independent programs. */
  isFixedAddress: boolean;
  entry: number;
  programHeadersOffset: number;
  segments: Segment[];
}

export function isElf(bytes: Buffer): boolean {
  return bytes.length > 64 && bytes.readUInt32BE(0) === 0x7f454c46;
}

export function readElf(bytes: Buffer, name: string): Elf {
  const [CLASS_64, LITTLE_ENDIAN, X86_64] = [2, 1, 62];
  if (
    !isElf(bytes) ||
    bytes[4] !== CLASS_64 ||
    bytes[5] !== LITTLE_ENDIAN ||
    bytes.readUInt16LE(18) !== X86_64
  )
    throw new KindlingError('KND_BUILD_FAILED', `${name} is not a 64-bit x86 ELF file`);
  const programHeadersOffset = Number(bytes.readBigUInt64LE(32));
  const segments = Array.from({ length: bytes.readUInt16LE(56) }, (_, index): Segment => {
    const at = programHeadersOffset + index * PROGRAM_HEADER_SIZE;
    return {
      type: bytes.readUInt32LE(at),
      flags: bytes.readUInt32LE(at + 4),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      virtualAddress: Number(bytes.readBigUInt64LE(at + 16)),
      fileSize: Number(bytes.readBigUInt64LE(at + 32)),
      memorySize: Number(bytes.readBigUInt64LE(at + 40)),
    };
  });
  return {
    bytes,
    isFixedAddress: bytes.readUInt16LE(16) === 2,
    entry: Number(bytes.readBigUInt64LE(24)),
    programHeadersOffset,
    segments,
  };
}

export interface DynamicEntry {
  tag: number;
  value: number;
  /** File offset of the value, for patching. */
  valueOffset: number;
}

/** The dynamic section; empty for a static program. */
export function dynamicEntries(elf: Elf): DynamicEntry[] {
  const dynamic = elf.segments.find(({ type }) => type === SEGMENT.DYNAMIC);
  const entries: DynamicEntry[] = [];
  if (!dynamic) return entries;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.fileSize; at += DYNAMIC_ENTRY_SIZE) {
    const tag = Number(elf.bytes.readBigUInt64LE(at));
    if (tag === DYNAMIC.END) break;
    entries.push({ tag, value: Number(elf.bytes.readBigUInt64LE(at + 8)), valueOffset: at + 8 });
  }
  return entries;
}

/** The shared libraries a program or library asks for, by soname. */
export function neededLibraries(elf: Elf): string[] {
  const entries = dynamicEntries(elf);
  const strings = entries.find(({ tag }) => tag === DYNAMIC.STRING_TABLE)?.value;
  if (strings === undefined) return [];
  const at = fileOffsetOf(elf, strings);
  return entries
    .filter(({ tag }) => tag === DYNAMIC.NEEDED)
    .map(({ value }) => stringAt(elf.bytes, at + value));
}

/** Where in the file the byte lies that is loaded at this address. */
export function fileOffsetOf(elf: Elf, address: number): number {
  const segment = elf.segments.find(
    ({ type, virtualAddress, fileSize }) =>
      type === SEGMENT.LOAD && address >= virtualAddress && address < virtualAddress + fileSize,
  );
  if (!segment)
    throw new KindlingError('KND_BUILD_FAILED', `no segment holds the address 0x${address.toString(16)}`);
  return address - segment.virtualAddress + segment.offset;
}

export function stringAt(bytes: Buffer, offset: number): string {
  return bytes.toString('latin1', offset, bytes.indexOf(0, offset));
}

export interface Section {
  name: string;
  offset: number;
  size: number;
}

/** The sections (ELF-64 section headers: name, type, flags, address, offset, size, …); a stripped program has fewer. */
export function readSections(bytes: Buffer): Section[] {
  const table = Number(bytes.readBigUInt64LE(40));
  const [entrySize, count, namesIndex] = [
    bytes.readUInt16LE(58),
    bytes.readUInt16LE(60),
    bytes.readUInt16LE(62),
  ];
  const namesAt = Number(bytes.readBigUInt64LE(table + namesIndex * entrySize + 24));
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * entrySize;
    return {
      name: stringAt(bytes, namesAt + bytes.readUInt32LE(at)),
      offset: Number(bytes.readBigUInt64LE(at + 24)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}
