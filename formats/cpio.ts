import { KindlingError } from '../protocol/error.ts';

/**
 * The archive format of an initramfs: cpio "newc" (Linux Documentation/driver-api/early-userspace/buffer-format.rst).
 * Each entry: a header of 13 hexadecimal fields of 8 characters behind the magic, the name, the contents; name and
 * contents are padded to 4 bytes. The archive ends with an entry named TRAILER!!!.
 */
export type CpioEntry = { path: string; mode: number } & (
  | { type: 'file'; contents: Buffer }
  | { type: 'directory' }
  | { type: 'symlink'; target: string }
  | { type: 'character-device'; major: number; minor: number }
);

const MAGIC = '070701';
const HEADER_SIZE = 110;
const TRAILER = 'TRAILER!!!';
// Order of the fields in the header.
const FIELDS = [
  'inode',
  'mode',
  'uid',
  'gid',
  'links',
  'mtime',
  'size',
  'major',
  'minor',
  'deviceMajor',
  'deviceMinor',
  'nameSize',
  'check',
] as const;
type Header = Record<(typeof FIELDS)[number], number>;
const TYPE_BITS = {
  file: 0o100000,
  directory: 0o040000,
  symlink: 0o120000,
  'character-device': 0o020000,
} as const;
const TYPE_MASK = 0o170000;

/** Same entries, same bytes: sorted by path, owned by root, no times, inodes counted from 1. */
export function encodeCpio(entries: readonly CpioEntry[]): Buffer {
  const parts: Buffer[] = [];
  const sorted = [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  let previous: string | undefined;
  sorted.forEach((entry, index) => {
    checkPath(entry.path);
    if (entry.path === previous)
      throw new KindlingError('KND_BUILD_FAILED', `two entries of the archive are named ${entry.path}`);
    previous = entry.path;
    const contents = contentsOf(entry);
    const device = entry.type === 'character-device' ? entry : { major: 0, minor: 0 };
    const header: Partial<Header> = {
      inode: index + 1,
      mode: TYPE_BITS[entry.type] | entry.mode,
      links: entry.type === 'directory' ? 2 : 1,
      size: contents.length,
      deviceMajor: device.major,
      deviceMinor: device.minor,
    };
    parts.push(...encodeRecord(entry.path, header, contents));
  });
  parts.push(...encodeRecord(TRAILER, { links: 1 }, Buffer.alloc(0)));
  return Buffer.concat(parts);
}

/** The entries of one archive; what follows its trailer (another archive, padding) is not looked at. */
export function decodeCpio(archive: Buffer): CpioEntry[] {
  const entries: CpioEntry[] = [];
  let at = 0;
  for (;;) {
    const header = decodeHeader(archive, at);
    const path = take(archive, at + HEADER_SIZE, header.nameSize).toString('utf8', 0, header.nameSize - 1);
    if (path === TRAILER) return entries;
    const contentsAt = padded(at + HEADER_SIZE + header.nameSize);
    const contents = take(archive, contentsAt, header.size);
    at = padded(contentsAt + header.size);
    if (path !== '.') entries.push(decodeEntry(path, header, contents));
  }
}

function decodeEntry(path: string, header: Header, contents: Buffer): CpioEntry {
  const mode = header.mode & ~TYPE_MASK;
  switch (header.mode & TYPE_MASK) {
    case TYPE_BITS.file:
      return { path, mode, type: 'file', contents };
    case TYPE_BITS.directory:
      return { path, mode, type: 'directory' };
    case TYPE_BITS.symlink:
      return { path, mode, type: 'symlink', target: contents.toString() };
    case TYPE_BITS['character-device']:
      return { path, mode, type: 'character-device', major: header.deviceMajor, minor: header.deviceMinor };
    default:
      throw new KindlingError(
        'KND_BUILD_FAILED',
        `${path} in the archive is of a kind that an initramfs here never holds`,
      );
  }
}

function contentsOf(entry: CpioEntry): Buffer {
  if (entry.type === 'file') return entry.contents;
  return entry.type === 'symlink' ? Buffer.from(entry.target) : Buffer.alloc(0);
}

function encodeRecord(path: string, fields: Partial<Header>, contents: Buffer): Buffer[] {
  const name = Buffer.from(`${path}\0`);
  const header: Partial<Header> = { ...fields, nameSize: name.length };
  const text = FIELDS.map((field) => (header[field] ?? 0).toString(16).toUpperCase().padStart(8, '0')).join(
    '',
  );
  return [
    Buffer.from(MAGIC + text),
    name,
    Buffer.alloc(padded(HEADER_SIZE + name.length) - HEADER_SIZE - name.length),
    contents,
    Buffer.alloc(padded(contents.length) - contents.length),
  ];
}

function decodeHeader(archive: Buffer, at: number): Header {
  const text = take(archive, at, HEADER_SIZE).toString('latin1');
  if (!/^07070[12][0-9A-Fa-f]{104}$/.test(text))
    throw new KindlingError('KND_BUILD_FAILED', `there is no cpio header at byte ${at} of the archive`);
  const values = FIELDS.map((field, index) => [
    field,
    Number.parseInt(text.slice(6 + index * 8, 14 + index * 8), 16),
  ]);
  return Object.fromEntries(values) as Header;
}

function take(archive: Buffer, at: number, size: number): Buffer {
  if (at + size > archive.length) throw new KindlingError('KND_BUILD_FAILED', 'the cpio archive is cut off');
  return archive.subarray(at, at + size);
}

function checkPath(path: string): void {
  const isClean = path !== '' && !path.startsWith('/') && !path.endsWith('/') && !path.includes('\0');
  if (!isClean || path.split('/').some((part) => part === '.' || part === '..' || part === ''))
    throw new KindlingError(
      'KND_BUILD_FAILED',
      `“${path}” is no path for an archive: it must be relative and plain`,
    );
}

function padded(offset: number): number {
  return Math.ceil(offset / 4) * 4;
}
