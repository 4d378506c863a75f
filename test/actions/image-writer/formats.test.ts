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

  test('a name, a flag or a header that says otherwise is a contradiction', () => {
    const check = (expected: object, encoding?: string) => () =>
      checkFormat('gz', expected, encoding, 'http://x/y');
    expect(check({ format: 'xz' })).toThrow(/says xz, the file begins like gz/);
    expect(check({ compressed: false })).toThrow(/not compressed/);
    expect(check({}, 'zstd')).toThrow(/Content-Encoding: zstd/);
    expect(check({ compressed: true, format: 'gz' }, 'x-gzip')).not.toThrow();
  });

  test('an image inside an image is refused, an ISO inside a .gz is fine', () => {
    expect(() => checkNotNested(withBytes(0, 0x51, 0x46, 0x49, 0xfb), 'gz', 'x')).toThrow(
      /a qcow2 file inside a gz/,
    );
    expect(() => checkNotNested(withBytes(32_769, 0x43, 0x44, 0x30, 0x30, 0x31), 'gz', 'x')).not.toThrow();
  });
});
