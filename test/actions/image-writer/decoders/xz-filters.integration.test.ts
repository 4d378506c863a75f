import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { Crew } from '../../../../actions/image-writer/decoders/xz/crew.ts';
import { leastWindow } from '../../../../actions/image-writer/decoders/xz/plan-threads.ts';
import fc from '../../../seeds/fast-check.ts';
import { rounds, testRandom } from '../../../seeds/seeds.ts';
import { seededRandom } from '../test-image.ts';
import { decode as decodeWith, xz } from './decode-xz.ts';

const MIB = 1024 * 1024;
const several = new Crew((block) => ({
  count: 3,
  inputBytes: MIB,
  windowBytes: Math.max(leastWindow(block), 8 * MIB),
}));
afterAll(() => several.stop());

const decode = (file: Buffer) => decodeWith(several, file);

/** A program of this machine: real calls and jumps. */
const CODE = readFileSync('/bin/bash').subarray(0, 256 * 1024);

/** Bytes that look like calls at every turn: opcodes and operands overlap in every way there is. */
function lookalikes(length: number, seed: number): Buffer {
  const random = seededRandom(seed);
  const bytes = [0xe8, 0xe9, 0x00, 0xff, 0x00, 0xff, 0x01, 0xfe, 0x7f, 0x80];
  return Buffer.from(Uint8Array.from({ length }, () => bytes[Math.floor(random() * bytes.length)] ?? 0));
}

/** Samples of sound, as the delta filter is for. */
const SOUND = Buffer.from(
  Int16Array.from({ length: 60_000 }, (_, i) => 9000 * Math.sin(i / 30) + 2000 * Math.sin(i / 3)).buffer,
);

const CHAINS: Record<string, string[]> = {
  x86: ['--x86'],
  'x86 from an offset on': ['--x86=start=4093'],
  'x86 from the last address on': ['--x86=start=4294967290'],
  'delta 1': ['--delta=dist=1'],
  'delta 2': ['--delta=dist=2'],
  'delta 3': ['--delta=dist=3'],
  'delta 256': ['--delta=dist=256'],
  'x86, delta': ['--x86', '--delta=dist=4'],
  'delta, x86': ['--delta=dist=4', '--x86'],
  'x86, x86, x86': ['--x86', '--x86=start=7', '--x86'],
  'delta, x86, delta': ['--delta=dist=3', '--x86', '--delta'],
};

describe.each(Object.entries(CHAINS))('a file with the filters %s', (_, chain) => {
  test.each([
    ['a program', CODE],
    ['bytes that look like calls', lookalikes(150_000, 1)],
    ['samples of sound', SOUND],
    ['nothing', Buffer.alloc(0)],
    ['less than an instruction', Buffer.from([0xe8, 0, 0, 0])],
    ['one instruction', Buffer.from([0xe8, 1, 2, 0, 0])],
  ])('is decoded to %s', async (_name, bytes) => {
    const file = xz(bytes, ...chain, '--lzma2=preset=0');
    expect((await decode(file)).equals(bytes)).toBe(true);
  });

  test('is decoded from many blocks, by many threads, with every check', async () => {
    const bytes = Buffer.concat([lookalikes(100_000, 2), CODE, SOUND]);
    for (const check of ['none', 'crc32', 'crc64', 'sha256']) {
      const options = ['-T3', '--block-size=77777', `--check=${check}`];
      const file = xz(bytes, ...options, ...chain, '--lzma2=preset=0');
      expect((await decode(file)).equals(bytes), check).toBe(true);
    }
  });

  test('cut off anywhere is truncated', async () => {
    const file = xz(lookalikes(150_000, 3), ...chain, '--lzma2=preset=0');
    const random = testRandom(7);
    for (let i = 0; i < rounds(4); i += 1) {
      const cut = 13 + Math.floor(random() * (file.length - 13));
      await expect(decode(file.subarray(0, cut))).rejects.toMatchObject({ code: 'KND_IMAGE_TRUNCATED' });
    }
  });
});

describe('a filtered file', () => {
  test('may follow one without filters, and the other way round', async () => {
    const plain = xz(SOUND, '-0');
    const filtered = xz(CODE, '--x86', '--delta=dist=2', '--lzma2=preset=0');
    const both = Buffer.concat([CODE, SOUND, SOUND, CODE]);
    expect((await decode(Buffer.concat([filtered, plain, plain, filtered]))).equals(both)).toBe(true);
  });

  test('is decoded whatever it is', async () => {
    const byte = fc.constantFrom(0xe8, 0xe9, 0, 0xff, 1, 0x55);
    await fc.assert(
      fc.asyncProperty(fc.array(byte, { maxLength: 60 }), fc.nat(20), async (bytes, start) => {
        const all = Buffer.concat([Buffer.alloc(65_536 - 30), Buffer.from(bytes)]);
        const file = xz(all, `--x86=start=${start}`, '--lzma2=preset=0');
        expect((await decode(file)).equals(all)).toBe(true);
      }),
      { numRuns: 10 },
    );
  });

  test('damaged by one bit is an error, or its bytes are right', async () => {
    const random = testRandom(11);
    const whole = lookalikes(60_000, 5);
    const file = xz(whole, '-T2', '--block-size=20000', '--x86', '--delta=dist=3', '--lzma2=preset=0');
    for (let i = 0; i < rounds(20); i += 1) {
      const bad = Buffer.from(file);
      const at = Math.floor(i % 2 ? random() * 60 : random() * bad.length);
      bad[at] = (bad[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      const found = await decode(bad).catch((error: { code?: string }) => error.code ?? String(error));
      if (typeof found === 'string') expect(found).toMatch(/^KND_IMAGE_(CORRUPT|UNSUPPORTED|TRUNCATED)$/);
      else expect(found.equals(whole), `bit at ${at}`).toBe(true);
    }
  });
});

describe('a filter that is not undone here is named:', () => {
  test.each([
    ['PowerPC', '--powerpc'],
    ['IA-64', '--ia64'],
    ['ARM', '--arm'],
    ['ARM-Thumb', '--armthumb'],
    ['SPARC', '--sparc'],
    ['ARM64', '--arm64'],
  ])('%s', async (name, option) => {
    await expect(decode(xz(CODE, option, '--lzma2=preset=0'))).rejects.toMatchObject({
      code: 'KND_IMAGE_UNSUPPORTED',
      message: `the image’s xz data has a filter for ${name} code`,
      hint: /Compress it again with xz .*or with zstd/,
    });
  });

  test('one that nobody knows', async () => {
    await expect(decode(withFilters([[0x2142, []], LZMA2]))).rejects.toMatchObject({
      code: 'KND_IMAGE_UNSUPPORTED',
      message: /unknown kind \(0x2142\)/,
    });
  });

  test('one behind LZMA2, or LZMA2 before another', async () => {
    for (const chain of [[[0x04, []]], [LZMA2, LZMA2], [LZMA2, [0x04, []]]] as Chain[]) {
      await expect(decode(withFilters(chain))).rejects.toMatchObject({ code: 'KND_IMAGE_UNSUPPORTED' });
    }
  });
});

test.each([
  ['a delta filter without a distance', [0x03, []]],
  ['a delta filter with two', [0x03, [1, 1]]],
  ['an x86 filter with half an offset', [0x04, [1, 2]]],
  ['an x86 filter with too much of it', [0x04, [1, 2, 3, 4, 5]]],
] as [string, Entry][])('%s is damaged', async (_, entry) => {
  await expect(decode(withFilters([entry, LZMA2]))).rejects.toMatchObject({ code: 'KND_IMAGE_CORRUPT' });
});

type Entry = [id: number, properties: number[]];
type Chain = Entry[];
const LZMA2: Entry = [0x21, [0x0c]];

/** A file whose first block header names these filters, with everything else in order. */
function withFilters(chain: Chain): Buffer {
  const integer = (value: number) => (value < 128 ? [value] : [(value & 0x7f) | 0x80, value >> 7]);
  const fields = chain.flatMap(([id, properties]) => [...integer(id), properties.length, ...properties]);
  const length = Math.ceil((2 + fields.length + 4) / 4) * 4;
  const header = Buffer.alloc(length);
  header.set([length / 4 - 1, chain.length - 1, ...fields]);
  header.writeUInt32LE(crc32(header.subarray(0, length - 4)), length - 4);
  const file = xz(CODE.subarray(0, 5000), '-0');
  return Buffer.concat([file.subarray(0, 12), header, file.subarray(24)]);
}
