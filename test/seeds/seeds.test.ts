import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { thisRepository } from '../repository.ts';
import { repeatHint } from './seeds.ts';

describe('a seeded test', () => {
  it('is repeated by its file, its name and its seed', () => {
    const file = join(process.cwd(), 'test/a.test.ts');
    expect(repeatHint({ seed: 5, scale: 1, file, name: 'is wrong (always)' })).toBe(
      "The seed was 5. Again with the same one:\n  KINDLING_TEST_SEED=5 npm run test:unit -- test/a.test.ts -t 'is wrong \\(always\\)'",
    );
  });

  it('on devices or machines is repeated by npm test, in a long run with its scale', () => {
    const file = join(process.cwd(), 'test/a.qemu.test.ts');
    expect(repeatHint({ seed: 5, scale: 9, file, name: "it's" })).toBe(
      "The seed was 5. Again with the same one:\n  KINDLING_TEST_SEED=5 KINDLING_TEST_SCALE=9 npm test -- test/a.qemu.test.ts -t 'it'\\''s'",
    );
  });

  it('that is long is repeated by the command that runs the long ones', () => {
    const file = join(process.cwd(), 'test/a.long.test.ts');
    expect(repeatHint({ seed: 5, scale: 1, file, name: 'x' })).toContain(
      "KINDLING_TEST_SEED=5 npm run test:long -- test/a.long.test.ts -t 'x'",
    );
  });

  it('takes fast-check from here, never from the package itself', () => {
    const { files, read } = thisRepository();
    const direct = files.filter(
      (file) =>
        file.endsWith('.ts') &&
        !file.startsWith('test/seeds/') &&
        // programs of their own, not tests: they take the seed themselves, and print it
        !/^test\/(conformance|fuzz)\//.test(file) &&
        read(file).includes("import fc from 'fast-check'"),
    );
    expect(direct).toEqual([]);
  });
});
