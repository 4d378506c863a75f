import { KindlingError } from '../../protocol/error.ts';
import { readElf, readSections } from '../elf.ts';

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
