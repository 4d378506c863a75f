import { KindlingError } from '../../protocol/error.ts';

/**
 * Node carries the data of ICU (languages, calendars, character sets of the whole world): 33 MB, of which an agent
 * without a screen needs a tenth. This rewrites that table inside the program so that it holds only what is kept; what
 * was there becomes zeros, which are not stored (pack.ts).
 *
 * Format (ICU source/common/ucmndata.h): a header whose first 16 bits are its size; then a count, and that many pairs of
 * 32-bit offsets (name, contents) counted from the end of the header, sorted by name; then names and contents.
 */
const FORMAT = 'CmnD';
const FORMAT_OFFSET_IN_HEADER = 12;
const MAGIC_OFFSET_IN_HEADER = 2;
const MAGIC = 0x27da;
const ALIGNMENT = 16;

interface Item {
  name: string;
  contents: Buffer;
}

/** Shrinks the table in place and gives how many bytes of it are left. `size` is the length of the whole table. */
export function trimIcuData(program: Buffer, table: { offset: number; size: number }): number {
  const data = program.subarray(table.offset, table.offset + table.size);
  const headerSize = data.readUInt16LE(0);
  const kept = readItems(data, headerSize)
    .filter(({ name }) => isNeeded(name.slice(name.indexOf('/') + 1)))
    .map(({ name, contents }) => ({ name, contents: Buffer.from(contents) }));
  const trimmed = encodeItems(kept);
  data.fill(0, headerSize);
  trimmed.copy(data, headerSize);
  return headerSize + trimmed.length;
}

/** Where the table starts. Its end is not written in it: the caller knows it from the symbol table. */
export function findIcuData(program: Buffer): number {
  for (let at = program.indexOf(FORMAT); at >= 0; at = program.indexOf(FORMAT, at + 1)) {
    const start = at - FORMAT_OFFSET_IN_HEADER;
    if (start >= 0 && program.readUInt16LE(start + MAGIC_OFFSET_IN_HEADER) === MAGIC) return start;
  }
  throw new KindlingError('KND_BUILD_FAILED', 'this Node carries no ICU data');
}

function readItems(data: Buffer, headerSize: number): Item[] {
  const body = data.subarray(headerSize);
  const count = body.readUInt32LE(0);
  const offsets = Array.from({ length: count }, (_, index) => ({
    name: body.readUInt32LE(4 + index * 8),
    contents: body.readUInt32LE(8 + index * 8),
  }));
  return offsets.map(({ name, contents }, index) => ({
    name: body.toString('latin1', name, body.indexOf(0, name)),
    contents: body.subarray(contents, offsets[index + 1]?.contents ?? body.length),
  }));
}

function encodeItems(items: readonly Item[]): Buffer {
  const names = items.map(({ name }) => Buffer.from(`${name}\0`, 'latin1'));
  const namesStart = 4 + items.length * 8;
  let nameAt = namesStart;
  let contentsAt = align(namesStart + names.reduce((sum, name) => sum + name.length, 0));
  const size = items.reduce((end, { contents }) => align(end + contents.length), contentsAt);
  const body = Buffer.alloc(size);
  body.writeUInt32LE(items.length, 0);
  items.forEach(({ contents }, index) => {
    body.writeUInt32LE(nameAt, 4 + index * 8);
    body.writeUInt32LE(contentsAt, 8 + index * 8);
    nameAt += names[index]?.copy(body, nameAt) ?? 0;
    contents.copy(body, contentsAt);
    contentsAt = align(contentsAt + contents.length);
  });
  return body;
}

// Languages are named "de", "de_CH", "sr_Latn", "en_US_POSIX"; what belongs to no language has longer names.
const LANGUAGE = /^[a-z]{2,3}(_[A-Za-z0-9_]+)?\.res$/;
const KEPT_LANGUAGES = ['en.res', 'en_US.res', 'en_001.res'];
// char, word, line, sentence, title breaks of English; the dictionaries of Chinese, Thai, Khmer… are half of the folder.
const KEPT_BREAKS = ['char.brk', 'word.brk', 'line.brk', 'sent.brk', 'title.brk'];
const KEPT_CHARACTER_SETS = ['ibm-5348_P100-1997.cnv']; // windows-1252, which the web calls latin1
const NEVER_USED_BY_JAVASCRIPT = ['translit', 'unames.icu', 'confusables.cfu'];

function isNeeded(path: string): boolean {
  const [folder = '', file = ''] = path.includes('/') ? path.split('/') : ['', path];
  if (NEVER_USED_BY_JAVASCRIPT.some((name) => name === folder || name === file)) return false;
  if (file.endsWith('.spp') || file.endsWith('.dict')) return false; // stringprep; dictionaries of word breaks
  if (file.endsWith('.brk')) return KEPT_BREAKS.includes(file);
  if (file.endsWith('.cnv')) return KEPT_CHARACTER_SETS.includes(file);
  return !LANGUAGE.test(file) || KEPT_LANGUAGES.includes(file);
}

function align(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT;
}
