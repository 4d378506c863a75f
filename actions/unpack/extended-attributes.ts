import type { Extract } from 'tar-stream';
import { KindlingError } from '../../protocol/error.ts';
import { requireNativeLibrary } from '../../system/native-library.ts';

const FUNCTIONS = {
  lsetxattr: { arguments: ['buffer', 'buffer', 'buffer', 'uint64', 'int32'], return: 'int32' },
} as const;
const open = () => requireNativeLibrary(null, FUNCTIONS, 'extended attributes').functions;
let libc: ReturnType<typeof open> | undefined;

/** The part of tar-stream's reader that sees the bytes of an extended header. */
interface HeaderReader {
  _header: { type: string | null } | null;
  _pax: Record<string, string> | null;
  _decodeLongHeader(bytes: Buffer): void;
}

/**
 * tar-stream reads every value of an extended header as UTF-8. Attributes are bytes (a capability such as cap_setuid is 0x80, no UTF-8 at all), so
 * theirs are read again, one character per byte.
 */
export function keepAttributesBinary(unpacker: Extract): void {
  const reader = unpacker as unknown as HeaderReader;
  const decode = reader._decodeLongHeader.bind(reader);
  reader._decodeLongHeader = (bytes) => {
    decode(bytes);
    if (reader._header?.type === 'pax-header' && reader._pax) Object.assign(reader._pax, attributesOf(bytes));
  };
}

/** The records "length key=value\n" of an extended header that hold attributes (pax: POSIX.1-2001; the key is star's). */
function attributesOf(header: Buffer): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < header.length; ) {
    const length = Number.parseInt(header.toString('latin1', at, at + 12), 10);
    if (!(length > 0)) break;
    const [, key = '', value = ''] =
      /^\d+ ([^=]+)=(.*)\n$/s.exec(header.toString('latin1', at, at + length)) ?? [];
    if (key.startsWith('SCHILY.xattr.')) found[key] = value;
    at += length;
  }
  return found;
}

/** lsetxattr(2): capabilities and SELinux labels live there, and Node has no call for it. One character of the value is one byte. */
export function setExtendedAttribute(path: string, name: string, value: string): void {
  libc ??= open();
  const bytes = Buffer.from(value, 'latin1');
  const status = libc.lsetxattr(
    Buffer.from(`${path}\0`),
    Buffer.from(`${name}\0`),
    bytes.length > 0 ? bytes : Buffer.alloc(1),
    BigInt(bytes.length),
    0,
  );
  if (status !== 0) {
    throw new KindlingError(
      'KND_ARCHIVE_INVALID',
      `the attribute ${name} of ${path} cannot be set on this file system`,
    );
  }
}
