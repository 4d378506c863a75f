import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe.each(['', '1'])('sha256OfTwo with KINDLING_NO_FFI=«%s»', (noFfi) => {
  const lengths = [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 1_000_003];
  it.each(lengths)('of %d bytes and of others is what node:crypto says', async (length) => {
    vi.stubEnv('KINDLING_NO_FFI', noFfi);
    const { sha256OfTwo } = await import('../../system/crypto.ts');
    const hex = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    const first = Buffer.alloc(length + 5, 'kindling').subarray(5);
    for (const other of lengths) {
      const second = Buffer.alloc(other + 1, 'another message').subarray(1);
      const found = sha256OfTwo(first, second).map((digest) => digest.toString('hex'));
      expect(found).toEqual([hex(first), hex(second)]);
    }
  });
});

describe.each(['', '1'])('sha256 with KINDLING_NO_FFI=«%s»', (noFfi) => {
  it.each([0, 1, 55, 56, 64, 1_000_003])('of %d bytes is what node:crypto says', async (length) => {
    vi.stubEnv('KINDLING_NO_FFI', noFfi);
    const { sha256 } = await import('../../system/crypto.ts');
    const bytes = Buffer.alloc(length + 3, 'kindling').subarray(3);
    expect(sha256(bytes).toString('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  });
});
