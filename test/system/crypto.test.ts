import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe.each(['', '1'])('sha256 with KINDLING_NO_FFI=“%s”', (noFfi) => {
  it.each([0, 1, 55, 56, 64, 1_000_003])('of %d bytes is what node:crypto says', async (length) => {
    vi.stubEnv('KINDLING_NO_FFI', noFfi);
    const { sha256 } = await import('../../system/crypto.ts');
    const bytes = Buffer.alloc(length + 3, 'kindling').subarray(3);
    expect(sha256(bytes).toString('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  });
});
