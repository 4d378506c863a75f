import { readElf, readSections, type Section, stringAt } from '../../formats/elf.ts';
import { KindlingError } from '../../protocol/error.ts';

/** Parts of the Node program, besides languages (icu-data.ts), that no agent ever uses. Overwritten in place. */

const PROGRAM_HEADER_SIZE = 56;
const SEGMENT_NULL = 0;
const SEGMENT_UNWIND_TABLES = 0x6474e550; // PT_GNU_EH_FRAME
const UNWIND_SECTIONS = ['.eh_frame_hdr', '.eh_frame', '.gcc_except_table'];

/**
 * The tables by which C++ exceptions find their handlers (6.5 MB). Node and V8 are compiled without exceptions; what they
 * would be used for is the code behind `--build-sea`. An exception out of a library ends the program, as it did before.
 */
export function dropUnwindTables(program: Buffer): void {
  const elf = readElf(program, 'node');
  elf.segments.forEach(({ type }, index) => {
    if (type === SEGMENT_UNWIND_TABLES)
      program.writeUInt32LE(SEGMENT_NULL, elf.programHeadersOffset + index * PROGRAM_HEADER_SIZE);
  });
  for (const { name, offset, size } of readSections(program))
    if (UNWIND_SECTIONS.includes(name)) program.fill(0, offset, offset + size);
}

/** The stripper of TypeScript's types, 3.8 MB of WebAssembly in base64: there is no TypeScript in an executable. */
export function dropTypeStripper(program: Buffer, source: string): void {
  const at = program.indexOf(source, 0, 'latin1');
  if (at < 0) throw new KindlingError('KND_BUILD_FAILED', 'the type stripper is not where Node says it is');
  const instead = "throw new Error('this executable cannot strip types')";
  program.fill('\n', at, at + source.length, 'latin1'); // an error message quotes its line: keep that short
  program.write(instead, at, 'latin1');
}

const SYMBOL_SIZE = 24; // Elf64_Sym: name (4), info, other, section (2), value (8), size (8)
const RELOCATION_SIZE = 24; // Elf64_Rela: offset (8), type (4), symbol (4), addend (8)
/** C++ names that are not of the standard library, whose symbols libstdc++ and the program must share. */
const INTERNAL_NAME = /^_Z(?!NK?S|S|[nd]|T[ISV]S|NK?9__gnu_cxx)/;

/**
 * The names of 28,000 C++ functions that Node shows to add-ons. No add-on is ever loaded; node:ffi asks for C functions,
 * which stay. An entry that is all zeros is not found by the linker.
 */
export function dropInternalSymbols(program: Buffer): void {
  const sections = readSections(program);
  const [symbols, names] = ['.dynsym', '.dynstr'].map((name) =>
    sections.find((section) => section.name === name),
  );
  if (!symbols || !names) throw new KindlingError('KND_BUILD_FAILED', 'this Node has no dynamic symbols');
  const isUsed = relocatedSymbols(program, sections);
  const keptNames = Buffer.alloc(names.size);
  for (let index = 1; index < symbols.size / SYMBOL_SIZE; index++) {
    const at = symbols.offset + index * SYMBOL_SIZE;
    const nameAt = program.readUInt32LE(at);
    const name = stringAt(program, names.offset + nameAt);
    const isDefined = program.readUInt16LE(at + 6) !== 0;
    if (isDefined && !isUsed.has(index) && INTERNAL_NAME.test(name)) program.fill(0, at, at + SYMBOL_SIZE);
    else program.copy(keptNames, nameAt, names.offset + nameAt, names.offset + nameAt + name.length);
  }
  keepOtherStrings(program, names, keptNames);
  keptNames.copy(program, names.offset);
}

/** The same table holds the names of libraries and of symbol versions; none of them looks like C++. */
function keepOtherStrings(program: Buffer, names: Section, kept: Buffer): void {
  for (let at = 0; at < names.size; ) {
    const text = stringAt(program, names.offset + at);
    if (!INTERNAL_NAME.test(text)) program.copy(kept, at, names.offset + at, names.offset + at + text.length);
    at += text.length + 1;
  }
}

function relocatedSymbols(program: Buffer, sections: readonly Section[]): Set<number> {
  const used = new Set<number>();
  for (const { name, offset, size } of sections)
    if (name.startsWith('.rela.'))
      for (let at = offset; at < offset + size; at += RELOCATION_SIZE)
        used.add(program.readUInt32LE(at + 12));
  return used;
}
