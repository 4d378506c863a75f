/**
 * A 64-bit EFI program around position-independent code that starts with its entry point: headers with room for the sections
 * that addSections (uki.ts) puts behind it. Offsets: Microsoft "PE Format", MS-DOS stub, COFF header, optional header PE32+.
 */
const PE_OFFSET = 0x80;
const HEADERS_SIZE = 0x400;
const FILE_ALIGNMENT = 0x200;
const SECTION_ALIGNMENT = 0x1000;
const OPTIONAL_HEADER_SIZE = 240;
const DIRECTORIES = 16;
const MACHINE_X64 = 0x8664;
/** Executable, large addresses. Relocations are not stripped: there are none to make. */
const CHARACTERISTICS = 0x0022;
const EFI_APPLICATION = 10;
/** Code, executable, readable. */
const CODE_SECTION = 0x60000020;

export function makeEfiProgram(code: Buffer): Buffer {
  const rawSize = Math.ceil(code.length / FILE_ALIGNMENT) * FILE_ALIGNMENT;
  const image = Buffer.alloc(HEADERS_SIZE + rawSize);
  image.write('MZ', 0, 'latin1');
  image.writeUInt32LE(PE_OFFSET, 0x3c);

  image.write('PE\0\0', PE_OFFSET, 'latin1');
  image.writeUInt16LE(MACHINE_X64, PE_OFFSET + 4);
  image.writeUInt16LE(1, PE_OFFSET + 6); // sections
  image.writeUInt16LE(OPTIONAL_HEADER_SIZE, PE_OFFSET + 20);
  image.writeUInt16LE(CHARACTERISTICS, PE_OFFSET + 22);

  const optional = PE_OFFSET + 24;
  image.writeUInt16LE(0x20b, optional); // PE32+
  image.writeUInt32LE(rawSize, optional + 4); // size of code
  image.writeUInt32LE(SECTION_ALIGNMENT, optional + 16); // entry point
  image.writeUInt32LE(SECTION_ALIGNMENT, optional + 20); // base of code
  image.writeUInt32LE(SECTION_ALIGNMENT, optional + 32);
  image.writeUInt32LE(FILE_ALIGNMENT, optional + 36);
  const imageSize = SECTION_ALIGNMENT + Math.ceil(code.length / SECTION_ALIGNMENT) * SECTION_ALIGNMENT;
  image.writeUInt32LE(imageSize, optional + 56);
  image.writeUInt32LE(HEADERS_SIZE, optional + 60);
  image.writeUInt16LE(EFI_APPLICATION, optional + 68);
  image.writeUInt32LE(DIRECTORIES, optional + 108);

  const section = optional + OPTIONAL_HEADER_SIZE;
  image.write('.text\0\0\0', section, 'latin1');
  image.writeUInt32LE(code.length, section + 8);
  image.writeUInt32LE(SECTION_ALIGNMENT, section + 12);
  image.writeUInt32LE(rawSize, section + 16);
  image.writeUInt32LE(HEADERS_SIZE, section + 20);
  image.writeUInt32LE(CODE_SECTION, section + 36);
  code.copy(image, HEADERS_SIZE);
  return image;
}
