import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Bz2Members } from '../../../actions/image-writer/bz2-members.ts';
import { seededRandom } from './test-image.ts';

const bzip2 = (bytes: Buffer, level = 9) =>
  execFileSync('bzip2', ['-c', `-${level}`], { input: bytes, maxBuffer: 2 ** 26 });

/** So that every alignment of the end is met, and of the pieces the file arrives in. */
function isBroken(file: Buffer, seed: number): boolean {
  const members = new Bz2Members();
  const random = seededRandom(seed);
  for (let at = 0; at < file.length; ) {
    const length = 1 + Math.floor(random() < 0.3 ? random() * 12 : random() * 40_000);
    members.look(file.subarray(at, at + length));
    at += length;
  }
  return members.isBroken;
}

describe('members of a bzip2 file', () => {
  const random = seededRandom(3);
  const parts = Array.from({ length: 24 }, (_, i) => {
    const bytes = i === 5 ? Buffer.alloc(0) : randomBytes(1000 + Math.floor(random() * 250_000));
    return bzip2(bytes, (i % 9) + 1);
  });
  const whole = Buffer.concat(parts);

  test('that follow each other are good, however the file arrives, with zeros behind it or not', () => {
    for (let seed = 0; seed < 20; seed += 1) expect(isBroken(whole, seed)).toBe(false);
    expect(isBroken(Buffer.concat([whole, Buffer.alloc(70_000)]), 1)).toBe(false);
    expect(isBroken(bzip2(Buffer.alloc(20_000_000)), 2)).toBe(false);
  });

  test('one with a flipped bit in its first bytes is found, wherever it lies', () => {
    let at = 0;
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        const bad = Buffer.from(whole);
        const place = at + (index % 3);
        bad[place] = (bad[place] ?? 0) ^ (1 << (index % 8));
        expect(isBroken(bad, index), `member ${index}`).toBe(true);
      }
      at += part.length;
    }
  });

  test('what follows the last, or follows zeros, is found', () => {
    expect(isBroken(Buffer.concat([whole, Buffer.from('and something else at the end')]), 1)).toBe(true);
    expect(isBroken(Buffer.concat([whole, Buffer.alloc(5000), parts[0] ?? Buffer.alloc(0)]), 1)).toBe(true);
  });
});
