import { createHash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createCompressFrame } from '../../images/zstd-frame.ts';

const MIB = 2 ** 20;
afterEach(() => vi.unstubAllEnvs());

/** Bytes that no match is found in, of a given number of values: what can be won is won by their literals alone. */
function literals(length: number, values: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 32) {
    createHash('sha256').update(`${values} ${at}`).digest().copy(bytes, at);
  }
  return bytes.map((byte) => byte % values) as Buffer;
}

describe('a chunk as one zstd frame', () => {
  const program = literals(2 * MIB, 200);
  const text = literals(2 * MIB, 20);

  test.each([
    ['what is like a program', program],
    ['what is like a text', text],
    ['zeros', Buffer.alloc(2 * MIB)],
    ['less than the sample', text.subarray(0, 1000)],
    ['one byte', Buffer.of(7)],
  ])('%s: any zstd unpacks it, at any level, with node:ffi and without', (_, raw) => {
    for (const noFfi of ['', '1']) {
      vi.stubEnv('KINDLING_NO_FFI', noFfi);
      for (const level of [1, 9, 13]) {
        expect(zstdDecompressSync(createCompressFrame()(raw, level)).equals(raw)).toBe(true);
      }
    }
  });

  test('literals are compressed where that makes a difference, and left alone where it makes little', () => {
    const compress = createCompressFrame();
    expect(compress(text, 9).length).toBeLessThan(0.6 * text.length);
    expect(compress(program, 9).length).toBeGreaterThanOrEqual(program.length);
  });

  test('who asks for the smallest file gets it', () => {
    expect(createCompressFrame()(program, 13).length).toBeLessThan(0.97 * program.length);
  });

  test('the same input gives the same bytes', () => {
    const compress = createCompressFrame();
    const once = Buffer.from(compress(text, 9));
    compress(program, 9);
    expect(once.equals(compress(text, 9))).toBe(true);
  });
});
