import {
  DYNAMIC,
  dynamicEntries,
  type Elf,
  FLAG,
  fileOffsetOf,
  neededLibraries,
  readElf,
  SEGMENT,
  type Segment,
  stringAt,
} from '../../formats/elf.ts';
import { KindlingError } from '../../protocol/error.ts';

/** Lays out the file `kindling-agent`: launcher, Node, ld.so, libraries. What launcher.c finds in its `payload` is decided here. */

const PAGE = 4096;
const MARKER = 'KINDLING-PAYLOAD';
// These mirror struct payload of launcher.c.
const MAX_MAPPINGS = 48;
const MAX_LIBRARIES = 16;
/** A run of zeros this long inside Node is not stored: the launcher maps empty memory there. */
const HOLE_SIZE = 16 * PAGE;
const PATH_PREFIX = '/proc/self/fd/';
const PATH_SLOT = 32;

export interface Library {
  /** The soname under which Node asks for it. */
  name: string;
  bytes: Buffer;
}

interface Mapping {
  address: number;
  size: number;
  protection: number;
  /** Undefined: zeros, nothing in the file. */
  contents: Buffer | undefined;
}

export function packOneFile(launcher: Buffer, node: Buffer, linker: Buffer, libraries: Library[]): Buffer {
  const nodeElf = readElf(Buffer.from(node), 'node');
  const linkerElf = readElf(linker, 'ld.so');
  if (!nodeElf.isFixedAddress)
    throw new KindlingError(
      'KND_BUILD_FAILED',
      'this Node is position-independent; the launcher needs one with fixed addresses',
    );
  const missing = neededLibraries(nodeElf).filter(
    (name) => !name.startsWith('ld-linux') && !libraries.some((library) => library.name === name),
  );
  if (missing.length > 0)
    throw new KindlingError('KND_BUILD_FAILED', `Node needs ${missing.join(', ')}, which no package gave`);

  const paths = redirectLibraries(nodeElf, libraries);
  const nodeMappings = [...mappingsOf(nodeElf), paths.mapping];
  const linkerMappings = mappingsOf(linkerElf);

  const file = new PageAlignedFile(launcher);
  const table = new Table();
  table.add(0); // the file's size, known at the end
  table.add(nodeElf.entry, addressOfHeaders(nodeElf), nodeElf.segments.length);
  table.add(linkerElf.entry, endOfImage(linkerElf));
  table.add(nodeMappings.length, linkerMappings.length, libraries.length);
  table.addRecords(
    MAX_MAPPINGS,
    [...nodeMappings, ...linkerMappings].map(({ address, size, protection, contents }) => [
      address,
      size,
      contents ? file.append(contents) : 0,
      protection,
    ]),
  );
  table.addRecords(
    MAX_LIBRARIES,
    libraries.map(({ bytes }, index) => {
      const padded = padTo(bytes, 8);
      return [file.append(padded), padded.length, checksum(padded), paths.numberAddress(index)];
    }),
  );
  const result = file.finish();
  table.set(0, result.length);
  writeTable(result, table.bytes());
  return result;
}

/** Makes Node ask for "/proc/self/fd/…" where it asks for "libc.so.6"; the numbers are put in by the launcher. */
function redirectLibraries(node: Elf, libraries: Library[]) {
  const address = roundUp(endOfImage(node) + PAGE, PAGE);
  const strings = Buffer.alloc(PAGE);
  const entries = dynamicEntries(node);
  const valueOfTag = (tag: number) => entries.find((entry) => entry.tag === tag)?.value ?? 0;
  const stringTable = valueOfTag(DYNAMIC.STRING_TABLE);
  const stringsAt = fileOffsetOf(node, stringTable);
  const slotOf = new Map<string, number>();
  libraries.forEach(({ name }, index) => {
    strings.write(PATH_PREFIX, index * PATH_SLOT, 'latin1');
    slotOf.set(name, address + index * PATH_SLOT - stringTable);
  });
  for (const { tag, value, valueOffset } of entries) {
    if (tag !== DYNAMIC.NEEDED) continue;
    const slot = slotOf.get(stringAt(node.bytes, stringsAt + value));
    if (slot !== undefined) node.bytes.writeBigUInt64LE(BigInt(slot), valueOffset);
  }
  // Symbol versions (Elf64_Verneed: version, count, file, aux, next) name the library they belong to a second time.
  let at = fileOffsetOf(node, valueOfTag(DYNAMIC.VERSION_NEEDED));
  for (let left = valueOfTag(DYNAMIC.VERSION_NEEDED_COUNT); left > 0; left--) {
    const slot = slotOf.get(stringAt(node.bytes, stringsAt + node.bytes.readUInt32LE(at + 4)));
    if (slot !== undefined) node.bytes.writeUInt32LE(slot, at + 4);
    at += node.bytes.readUInt32LE(at + 12);
  }
  return {
    mapping: {
      address,
      size: PAGE,
      protection: protectionOf(FLAG.READ | FLAG.WRITE),
      contents: strings,
    } satisfies Mapping,
    numberAddress: (index: number) => address + index * PATH_SLOT + PATH_PREFIX.length,
  };
}

function mappingsOf(elf: Elf): Mapping[] {
  const loads = elf.segments.filter(({ type }) => type === SEGMENT.LOAD);
  return loads.flatMap((segment) => mappingsOfSegment(elf, segment));
}

function mappingsOfSegment(elf: Elf, segment: Segment): Mapping[] {
  const address = roundDown(segment.virtualAddress, PAGE);
  const lead = segment.virtualAddress - address;
  const protection = protectionOf(segment.flags);
  // The page that holds the end of the file's part goes on with zeros: .bss starts there.
  const contents = padTo(elf.bytes.subarray(segment.offset - lead, segment.offset + segment.fileSize), PAGE);
  const mappings = splitAtHoles(contents).map(({ start, end, isHole }) => ({
    address: address + start,
    size: end - start,
    protection,
    contents: isHole ? undefined : contents.subarray(start, end),
  }));
  const size = roundUp(lead + segment.memorySize, PAGE);
  if (size > contents.length)
    mappings.push({
      address: address + contents.length,
      size: size - contents.length,
      protection,
      contents: undefined,
    });
  return mappings;
}

function splitAtHoles(contents: Buffer): { start: number; end: number; isHole: boolean }[] {
  const zeros = Buffer.alloc(HOLE_SIZE);
  const runs: { start: number; end: number; isHole: boolean }[] = [];
  for (let start = 0; start < contents.length; start += HOLE_SIZE) {
    const end = Math.min(start + HOLE_SIZE, contents.length);
    const isHole = end - start === HOLE_SIZE && zeros.equals(contents.subarray(start, end));
    const last = runs.at(-1);
    if (last && last.isHole === isHole) last.end = end;
    else runs.push({ start, end, isHole });
  }
  return runs;
}

/** ELF counts its flags from the other end than mmap does. */
function protectionOf(flags: number): number {
  const [PROT_READ, PROT_WRITE, PROT_EXECUTE] = [1, 2, 4];
  return (
    (flags & FLAG.READ ? PROT_READ : 0) |
    (flags & FLAG.WRITE ? PROT_WRITE : 0) |
    (flags & FLAG.EXECUTE ? PROT_EXECUTE : 0)
  );
}

function addressOfHeaders(elf: Elf): number {
  const headers = elf.segments.find(({ type }) => type === SEGMENT.PROGRAM_HEADERS);
  if (!headers)
    throw new KindlingError('KND_BUILD_FAILED', 'this Node does not say where its program headers are');
  return headers.virtualAddress;
}

function endOfImage(elf: Elf): number {
  const loads = elf.segments.filter(({ type }) => type === SEGMENT.LOAD);
  return roundUp(
    Math.max(...loads.map(({ virtualAddress, memorySize }) => virtualAddress + memorySize)),
    PAGE,
  );
}

function writeTable(file: Buffer, table: Buffer): void {
  const at = file.indexOf(MARKER, 0, 'latin1');
  if (at < 0) throw new KindlingError('KND_BUILD_FAILED', 'the launcher has no place for its table');
  file.writeBigUInt64LE(checksum(table), at + MARKER.length);
  table.copy(file, at + MARKER.length + 8);
}

/** As in launcher.c: FNV-1a over 64-bit words. */
function checksum(bytes: Buffer): bigint {
  let sum = 0xcbf29ce484222325n;
  for (let at = 0; at + 8 <= bytes.length; at += 8)
    sum = BigInt.asUintN(64, (sum ^ bytes.readBigUInt64LE(at)) * 0x100000001b3n);
  return sum;
}

class Table {
  readonly #words: bigint[] = [];

  add(...words: (number | bigint)[]): void {
    this.#words.push(...words.map(BigInt));
  }

  addRecords(capacity: number, records: (number | bigint)[][]): void {
    if (records.length > capacity)
      throw new KindlingError(
        'KND_BUILD_FAILED',
        `the launcher's table has ${capacity} places, ${records.length} are needed`,
      );
    for (let index = 0; index < capacity; index++) this.add(...(records[index] ?? [0, 0, 0, 0]));
  }

  set(index: number, word: number): void {
    this.#words[index] = BigInt(word);
  }

  bytes(): Buffer {
    const bytes = Buffer.alloc(this.#words.length * 8);
    this.#words.forEach((word, index) => {
      bytes.writeBigUInt64LE(word, index * 8);
    });
    return bytes;
  }
}

class PageAlignedFile {
  readonly #parts: Buffer[];
  #size: number;

  constructor(start: Buffer) {
    const padded = padTo(start, PAGE);
    this.#parts = [padded];
    this.#size = padded.length;
  }

  /** Adds the part on a page of its own and gives its offset. */
  append(part: Buffer): number {
    const offset = this.#size;
    const padded = padTo(part, PAGE);
    this.#parts.push(padded);
    this.#size += padded.length;
    return offset;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

function padTo(bytes: Buffer, multiple: number): Buffer {
  const padding = roundUp(bytes.length, multiple) - bytes.length;
  return padding === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(padding)]);
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

function roundDown(value: number, multiple: number): number {
  return Math.floor(value / multiple) * multiple;
}
