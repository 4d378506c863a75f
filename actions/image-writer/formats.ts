import { KindlingError } from '../../protocol/error.ts';
import type { ExpectedImage, ImageFormat } from './interface.ts';

/** Enough bytes to tell every format (the ISO volume descriptor is the farthest). */
export const SNIFF_LENGTH = 32_768 + 6;

const MAGIC: readonly { format: ImageFormat; offset: number; bytes: readonly number[] }[] = [
  { format: 'zst', offset: 0, bytes: [0x28, 0xb5, 0x2f, 0xfd] }, // RFC 8878 3.1.1
  { format: 'gz', offset: 0, bytes: [0x1f, 0x8b, 0x08] }, // RFC 1952 2.3.1: only deflate exists
  { format: 'xz', offset: 0, bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] }, // xz-file-format 2.1.1.1
  { format: 'bz2', offset: 0, bytes: [0x42, 0x5a, 0x68] }, // "BZh", then the level
  { format: 'qcow2', offset: 0, bytes: [0x51, 0x46, 0x49, 0xfb] }, // qcow2.txt: "QFI\xfb"
  { format: 'iso', offset: 32_769, bytes: [0x43, 0x44, 0x30, 0x30, 0x31] }, // ECMA-119 8.1.2: "CD001"
];

/** RFC 8878 3.1.2: a zstd file may begin with skippable frames 0x184D2A50–0x184D2A5F. */
const isSkippableZstdFrame = (head: Buffer) =>
  head.length >= 4 && (head.readUInt32LE(0) & 0xfffffff0) >>> 0 === 0x184d2a50;

/** Recognizes an image by its first bytes, never by its name or content type. What has no magic is raw. */
export function sniffFormat(head: Buffer): ImageFormat {
  for (const { format, offset, bytes } of MAGIC) {
    if (head.length >= offset + bytes.length && bytes.every((byte, i) => head[offset + i] === byte)) {
      return format;
    }
  }
  return isSkippableZstdFrame(head) ? 'zst' : 'raw';
}

const COMPRESSED: ReadonlySet<ImageFormat> = new Set(['gz', 'bz2', 'xz', 'zst']);

const isCompressed = (format: ImageFormat): boolean => COMPRESSED.has(format);

/** What else speaks of the format: the address and the server's headers. */
interface Claims {
  /** The address of the image. */
  url: string;
  contentEncoding?: string | undefined;
  contentType?: string | undefined;
}

/** Compares what the bytes say with what the request, the name and the server say. */
export function checkFormat(
  found: ImageFormat,
  expected: ExpectedImage,
  { url, contentEncoding, contentType }: Claims,
  source: string,
): void {
  const encoded = encodedFormat(contentEncoding);
  if (encoded !== undefined && encoded !== found) {
    throw contradiction(
      source,
      `the server says Content-Encoding: ${contentEncoding}, the file begins like ${found}`,
    );
  }
  const named = nameOf(url);
  // Object stores compress a raw image on the way, whatever they are asked for: then name and request speak of what is inside.
  const isPacked = encoded !== undefined && named !== found;
  const isSo = (format: ImageFormat) => format === found || (isPacked && format === 'raw');
  if (expected.format !== undefined && !isSo(expected.format)) {
    throw contradiction(source, `the request says ${expected.format}, the file begins like ${found}`);
  }
  if (expected.compressed === false && isCompressed(found) && !isPacked) {
    throw contradiction(source, `the request says that it is not compressed, the file begins like ${found}`);
  }
  if (expected.compressed === true && !isCompressed(found) && found !== 'qcow2') {
    throw contradiction(source, `the request says that it is compressed, the file begins like ${found}`);
  }
  if (named !== undefined && !isSo(named) && !(named === 'raw' && found === 'iso')) {
    throw contradiction(source, `its name says ${named}, the file begins like ${found}`);
  }
  const typed = TYPES[contentType?.split(';')[0]?.trim().toLowerCase() ?? ''];
  // a page of a portal or of a proxy, sent with 200: on a disk it would be a success that never boots
  const isPage = typed === 'page' && (found === 'raw' || isPacked);
  if (isPage || (typed !== undefined && typed !== 'page' && !isSo(typed))) {
    throw contradiction(
      source,
      `the server says Content-Type: ${contentType}, the file begins like ${found}`,
    );
  }
}

function nameOf(url: string): ImageFormat | undefined {
  return NAMES[/\.(\w+)$/.exec(new URL(url).pathname.toLowerCase())?.[1] ?? ''];
}

/** Endings that name a format; others (.img, .bin, none) say nothing. */
const NAMES: Readonly<Record<string, ImageFormat>> = {
  raw: 'raw',
  gz: 'gz',
  gzip: 'gz',
  bz2: 'bz2',
  bzip2: 'bz2',
  xz: 'xz',
  zs: 'zst',
  zst: 'zst',
  zstd: 'zst',
  qcow2: 'qcow2',
};

/** Content types that name a format, or something that is no image at all; others say nothing. */
const TYPES: Readonly<Record<string, ImageFormat | 'page'>> = {
  'application/gzip': 'gz',
  'application/x-gzip': 'gz',
  'application/x-bzip2': 'bz2',
  'application/x-xz': 'xz',
  'application/zstd': 'zst',
  'application/x-qemu-disk': 'qcow2',
  'application/json': 'page',
  'application/problem+json': 'page',
  'application/xhtml+xml': 'page',
  'application/xml': 'page',
  'text/html': 'page',
  'text/xml': 'page',
};

/** Whether the server says that it compressed the file on the way. */
export function isContentEncoded(contentEncoding: string | undefined): boolean {
  return encodedFormat(contentEncoding) !== undefined;
}

function encodedFormat(contentEncoding: string | undefined): ImageFormat | 'other' | undefined {
  switch (contentEncoding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return 'gz';
    case 'zstd':
      return 'zst';
    default:
      return 'other';
  }
}

/** A decompressed image that is itself a container: nothing would boot from it. */
export function checkNotNested(rawHead: Buffer, outer: ImageFormat, source: string): void {
  const inner = sniffFormat(rawHead);
  if (!isCompressed(outer) || inner === 'raw' || inner === 'iso') return;
  throw new KindlingError(
    'KND_IMAGE_UNSUPPORTED',
    `${source} is ${article(inner)} file inside ${article(outer)} file`,
    {
      hint:
        inner === 'qcow2'
          ? 'Publish the qcow2 as it is (it compresses inside: qemu-img convert -c), or a raw image compressed with zstd.'
          : 'Publish it compressed once.',
    },
  );
}

const article = (format: ImageFormat) =>
  format === 'iso' || format === 'xz' ? `an ${format}` : `a ${format}`;

const contradiction = (source: string, what: string) =>
  new KindlingError('KND_IMAGE_CONTRADICTION', `${source}: ${what}`);
