import { describe, expect, test } from 'vitest';
import {
  checkFormat,
  checkNotNested,
  SNIFF_LENGTH,
  sniffFormat,
} from '../../../actions/image-writer/formats.ts';

const withBytes = (at: number, ...bytes: number[]) => {
  const head = Buffer.alloc(SNIFF_LENGTH);
  Buffer.from(bytes).copy(head, at);
  return head;
};

describe('the format of an image', () => {
  test.each([
    ['zst', withBytes(0, 0x28, 0xb5, 0x2f, 0xfd)],
    ['zst', withBytes(0, 0x5a, 0x2a, 0x4d, 0x18)],
    ['gz', withBytes(0, 0x1f, 0x8b, 0x08)],
    ['xz', withBytes(0, 0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00)],
    ['bz2', withBytes(0, 0x42, 0x5a, 0x68, 0x39)],
    ['qcow2', withBytes(0, 0x51, 0x46, 0x49, 0xfb)],
    ['iso', withBytes(32_769, 0x43, 0x44, 0x30, 0x30, 0x31)],
    ['raw', withBytes(510, 0x55, 0xaa)],
    ['raw', Buffer.alloc(0)],
  ] as const)('%s is told by its first bytes', (format, head) => {
    expect(sniffFormat(head)).toBe(format);
  });

  test('a flag or an encoding that says otherwise is a contradiction', () => {
    const check = (expected: object, contentEncoding?: string) => () =>
      checkFormat('gz', expected, { url: 'http://x/y', contentEncoding }, 'http://x/y');
    expect(check({ format: 'xz' })).toThrow(/says xz, the file begins like gz/);
    expect(check({ compressed: false })).toThrow(/not compressed/);
    expect(check({}, 'zstd')).toThrow(/Content-Encoding: zstd/);
    expect(check({ compressed: true, format: 'gz' }, 'x-gzip')).not.toThrow();
  });

  test('a raw image that the server compressed on the way is no contradiction; a page is one', () => {
    const check = (url: string, expected: object, contentType?: string) => () =>
      checkFormat('gz', expected, { url, contentEncoding: 'gzip', contentType }, url);
    expect(check('http://x/disk.raw', { compressed: false, format: 'raw' })).not.toThrow();
    expect(check('http://x/disk.img', {}, 'application/gzip')).not.toThrow();
    expect(check('http://x/disk.img.gz', { compressed: false })).toThrow(/not compressed/);
    expect(check('http://x/disk.qcow2', {})).toThrow(/its name says qcow2/);
    expect(check('http://x/disk.raw', {}, 'text/html')).toThrow(/Content-Type: text\/html/);
  });

  test.each([
    ['gz', 'http://x/disk.XZ?name=disk.gz', /its name says xz, the file begins like gz/],
    ['raw', 'http://x/disk.img.gz', /its name says gz, the file begins like raw/],
    ['zst', 'http://x/disk.raw', /its name says raw/],
    ['raw', 'http://x/disk.qcow2#.raw', /its name says qcow2/],
    ['gz', 'http://x/disk.img.gz?X-Signature=a.xz', undefined],
    ['iso', 'http://x/hybrid.raw', undefined],
    ['qcow2', 'http://x/ubuntu.img', undefined],
    ['zst', 'http://x/blobs/sha256:abc', undefined],
  ] as const)('%s under the name %s', (format, url, complaint) => {
    const check = () => checkFormat(format, {}, { url }, 'x');
    if (complaint) expect(check).toThrow(complaint);
    else expect(check).not.toThrow();
  });

  test.each([
    ['raw', 'text/html; charset=utf-8', true],
    ['raw', 'application/json', true],
    ['raw', 'application/gzip', true],
    ['xz', 'application/zstd', true],
    ['xz', 'application/x-xz', false],
    ['raw', 'text/plain', false],
    ['raw', 'application/octet-stream', false],
    ['zst', undefined, false],
  ] as const)(
    '%s with the content type %s: a contradiction is %s',
    (format, contentType, isContradiction) => {
      const check = () => checkFormat(format, {}, { url: 'http://x/y', contentType }, 'x');
      if (isContradiction) expect(check).toThrow(`the server says Content-Type: ${contentType}`);
      else expect(check).not.toThrow();
    },
  );

  test('an image inside an image is refused, an ISO inside a .gz is fine', () => {
    expect(() => checkNotNested(withBytes(0, 0x51, 0x46, 0x49, 0xfb), 'gz', 'x')).toThrow(
      /a qcow2 file inside a gz/,
    );
    expect(() => checkNotNested(withBytes(32_769, 0x43, 0x44, 0x30, 0x30, 0x31), 'gz', 'x')).not.toThrow();
  });
});
