import { KindlingError } from '../../protocol/error.ts';

/**
 * A unified kernel image: kernel, initramfs and command line inside one EFI program, so that one signature covers all
 * three. systemd's stub finds them as sections of itself (uapi-group.org, "Unified Kernel Image"); adding sections to a
 * PE file is all that is to be done. Offsets: Microsoft "PE Format", COFF header, optional header PE32+, section table.
 */
export interface UkiSection {
  /** At most 8 characters: ".linux". */
  name: string;
  contents: Buffer;
}

const PE_POINTER = 0x3c;
const COFF = { sectionCount: 6, symbolTable: 12, symbolCount: 16, optionalHeaderSize: 20, end: 24 };
const OPTIONAL = {
  magic: 0,
  initializedDataSize: 8,
  fileAlignment: 36,
  imageSize: 56,
  headersSize: 60,
  checksum: 64,
};
const PE32_PLUS = 0x20b;
const SECTION = { size: 40, virtualSize: 8, address: 12, rawSize: 16, rawOffset: 20, flags: 36 };
const READABLE_DATA = 0x40000040;
/** What a unified kernel image has beyond its stub. */
const ADDED_SECTIONS = ['.osrel', '.uname', '.cmdline', '.initrd', '.linux'];
/** Firmware maps sections page-wise, whatever alignment the stub's own header asks for. */
const PAGE = 4096;

/** The stub with these sections behind its own. Same input, same bytes. */
export function addSections(stub: Buffer, sections: readonly UkiSection[]): Buffer {
  const pe = readHeaders(stub);
  const headers = Buffer.from(stub.subarray(0, pe.headersSize));
  if (pe.sectionTable + (pe.sections.length + sections.length) * SECTION.size > pe.headersSize)
    throw new KindlingError('KND_BUILD_FAILED', 'the EFI stub has no room for more sections');

  // Behind the last section lies only the stub's symbol table, which nothing reads at run time.
  const body = stub.subarray(
    pe.headersSize,
    Math.max(...pe.sections.map(({ rawOffset, rawSize }) => rawOffset + rawSize)),
  );
  const parts: Buffer[] = [body];
  let rawOffset = roundUp(pe.headersSize + body.length, pe.fileAlignment);
  parts.push(Buffer.alloc(rawOffset - pe.headersSize - body.length));
  let address = roundUp(Math.max(...pe.sections.map((one) => one.address + one.virtualSize)), PAGE);
  let added = 0;
  sections.forEach(({ name, contents }, index) => {
    const rawSize = roundUp(contents.length, pe.fileAlignment);
    const at = pe.sectionTable + (pe.sections.length + index) * SECTION.size;
    headers.write(name.padEnd(8, '\0'), at, 'latin1');
    headers.writeUInt32LE(contents.length, at + SECTION.virtualSize);
    headers.writeUInt32LE(address, at + SECTION.address);
    headers.writeUInt32LE(rawSize, at + SECTION.rawSize);
    headers.writeUInt32LE(rawOffset, at + SECTION.rawOffset);
    headers.writeUInt32LE(READABLE_DATA, at + SECTION.flags);
    parts.push(contents, Buffer.alloc(rawSize - contents.length));
    rawOffset += rawSize;
    added += rawSize;
    address = roundUp(address + contents.length, PAGE);
  });

  headers.writeUInt16LE(pe.sections.length + sections.length, pe.coff + COFF.sectionCount);
  headers.writeUInt32LE(0, pe.coff + COFF.symbolTable);
  headers.writeUInt32LE(0, pe.coff + COFF.symbolCount);
  headers.writeUInt32LE(pe.initializedDataSize + added, pe.optional + OPTIONAL.initializedDataSize);
  headers.writeUInt32LE(address, pe.optional + OPTIONAL.imageSize);
  headers.writeUInt32LE(0, pe.optional + OPTIONAL.checksum); // UEFI does not look at it; a signer sets it anew
  return Buffer.concat([headers, ...parts]);
}

/** A unified kernel image with other contents in some of the sections that addSections gave it. */
export function replaceSections(image: Buffer, contents: Readonly<Record<string, Buffer>>): Buffer {
  const sections = readUkiSections(image);
  const first = sections.findIndex(({ name }) => ADDED_SECTIONS.includes(name));
  if (first < 1) throw new KindlingError('KND_BUILD_FAILED', 'this is not a unified kernel image of ours');
  const pe = readHeaders(image);
  const stub = Buffer.from(image.subarray(0, pe.sections[first]?.rawOffset));
  stub.writeUInt16LE(first, pe.coff + COFF.sectionCount);
  stub.fill(0, pe.sectionTable + first * SECTION.size, pe.headersSize);
  const added = sections.slice(first);
  const addedBytes = added.reduce((sum, { contents: one }) => sum + roundUp(one.length, pe.fileAlignment), 0);
  stub.writeUInt32LE(pe.initializedDataSize - addedBytes, pe.optional + OPTIONAL.initializedDataSize);
  return addSections(
    stub,
    added.map((section) => ({ ...section, contents: contents[section.name] ?? section.contents })),
  );
}

/** The sections of a PE file, for a look inside a unified kernel image. */
export function readUkiSections(image: Buffer): UkiSection[] {
  return readHeaders(image).sections.map(({ name, rawOffset, rawSize, virtualSize }) => ({
    name,
    contents: image.subarray(rawOffset, rawOffset + Math.min(rawSize, virtualSize)),
  }));
}

function readHeaders(image: Buffer) {
  const coff = image.length > PE_POINTER + 4 ? image.readUInt32LE(PE_POINTER) : 0;
  const optional = coff + COFF.end;
  if (
    image.toString('latin1', coff, coff + 4) !== 'PE\0\0' ||
    image.readUInt16LE(optional + OPTIONAL.magic) !== PE32_PLUS
  )
    throw new KindlingError('KND_BUILD_FAILED', 'this is not a 64-bit EFI program');
  const sectionTable = optional + image.readUInt16LE(coff + COFF.optionalHeaderSize);
  const sections = Array.from({ length: image.readUInt16LE(coff + COFF.sectionCount) }, (_, index) => {
    const at = sectionTable + index * SECTION.size;
    return {
      name: image.toString('latin1', at, at + 8).replace(/\0+$/, ''),
      virtualSize: image.readUInt32LE(at + SECTION.virtualSize),
      address: image.readUInt32LE(at + SECTION.address),
      rawSize: image.readUInt32LE(at + SECTION.rawSize),
      rawOffset: image.readUInt32LE(at + SECTION.rawOffset),
    };
  });
  return {
    coff,
    optional,
    sectionTable,
    sections,
    initializedDataSize: image.readUInt32LE(optional + OPTIONAL.initializedDataSize),
    fileAlignment: image.readUInt32LE(optional + OPTIONAL.fileAlignment),
    headersSize: image.readUInt32LE(optional + OPTIONAL.headersSize),
  };
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
