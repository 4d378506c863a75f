import { crc32 } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { Crew } from '../../../../actions/image-writer/decoders/xz/crew.ts';
import {
  leastWindow,
  planThreads,
  type ThreadPlan,
} from '../../../../actions/image-writer/decoders/xz/plan-threads.ts';
import fc from '../../../seeds/fast-check.ts';
import { rounds, testRandom } from '../../../seeds/seeds.ts';
import { decode as decodeWith, xz } from './decode-xz.ts';
import { noise, text } from './sample-data.ts';

const crews: Crew[] = [];
afterAll(() => Promise.all(crews.map((crew) => crew.stop())));

function createCrew(plan?: (needed: number) => ThreadPlan): Crew {
  const crew = plan ? new Crew((block) => plan(leastWindow(block))) : new Crew();
  crews.push(crew);
  return crew;
}

const MIB = 1024 * 1024;
/** As on a machine with many cores. */
const several = createCrew((needed) => ({
  count: 3,
  inputBytes: MIB,
  windowBytes: Math.max(needed, 8 * MIB),
}));
/** So small that the window is full all the time, and the input as well. */
const tight = createCrew((needed) => ({ count: 2, inputBytes: 70_000, windowBytes: needed }));

const decode = (file: Buffer, crew = several) => decodeWith(crew, file);

/** Numbers that count up: what lc, lp and pb are for. */
const numbers = Buffer.from(Uint32Array.from({ length: 30_000 }, (_, i) => i * 3).buffer);
const mixed = Buffer.concat([
  text(300_000, 1),
  Buffer.alloc(900_000),
  noise(150_000),
  numbers,
  text(100_000, 2),
]);

const DATA: Record<string, Buffer> = {
  nothing: Buffer.alloc(0),
  'one byte': Buffer.from('x'),
  'random bytes': noise(300_000),
  text: text(500_000, 1),
  zeros: Buffer.alloc(12_345_678),
  'two bytes in turn': Buffer.from('ab'.repeat(600_000)),
  'a period of three': Buffer.from('abc'.repeat(333_333)),
  'a period of seven, and of eight': Buffer.from('abcdefg'.repeat(9999) + 'abcdefgh'.repeat(9999)),
  'a long period': Buffer.concat(Array(40).fill(noise(24_989))),
  'zeros with something between': Buffer.concat(
    Array.from({ length: 300 }, (_, i) => Buffer.concat([Buffer.alloc(i * 37), Buffer.from([i])])),
  ),
  'some of everything': mixed,
};

describe('an xz file is decoded to what was compressed:', () => {
  test.each(Object.entries(DATA))('%s', async (_, bytes) => {
    for (const options of [['-0'], ['-6'], ['-1', '-T2', '--block-size=100000']]) {
      const file = xz(bytes, ...options);
      for (const crew of [several, tight]) expect((await decode(file, crew)).equals(bytes)).toBe(true);
    }
  });

  test.each(Array.from({ length: 10 }, (_, level) => level))('level %d', async (level) => {
    expect((await decode(xz(mixed, `-${level}`))).equals(mixed)).toBe(true);
  });

  test.each(['none', 'crc32', 'crc64', 'sha256'])('check %s', async (check) => {
    for (const options of [['-1'], ['-1', '-T2', '--block-size=300001']]) {
      const file = xz(mixed, ...options, `--check=${check}`);
      expect((await decode(file)).equals(mixed)).toBe(true);
    }
  });

  test.each(['lc=0', 'lc=4', 'lc=0,lp=4', 'lc=2,lp=2', 'pb=0', 'pb=4', 'lc=1,lp=3,pb=3', 'mode=fast,nice=5'])(
    'properties %s',
    async (properties) => {
      const file = xz(mixed, `--lzma2=preset=2,${properties}`);
      expect((await decode(file)).equals(mixed)).toBe(true);
    },
  );

  test.each([4, 5, 64, 1000])('a dictionary of %d KiB, in a window that it fills', async (size) => {
    const bytes = Buffer.concat([mixed, text(1_000_000, 4), mixed, mixed]);
    const file = xz(bytes, `--lzma2=preset=1,dict=${size}KiB`);
    const small = createCrew((needed) => ({ count: 1, inputBytes: 70_000, windowBytes: needed }));
    expect((await decode(file, small)).equals(bytes)).toBe(true);
    await small.stop();
  });

  test('blocks of all sizes', async () => {
    for (const list of ['1,2,3,4,5,6,7,0', '100000,1,1,300000,77,0', '65536,65537,131072,5,0']) {
      const file = xz(mixed, '-2', `--block-list=${list}`);
      for (const crew of [several, tight]) expect((await decode(file, crew)).equals(mixed)).toBe(true);
    }
  });

  test('into blocks of any size', async () => {
    const file = xz(mixed, '-1');
    for (const blockBytes of [4096, 131_072, 131_073]) {
      expect((await decodeWith(several, file, blockBytes)).equals(mixed)).toBe(true);
    }
  });

  test('streams one behind the other, with padding, empty ones among them', async () => {
    const parts = Array.from({ length: 12 }, (_, i) => (i % 5 === 2 ? Buffer.alloc(0) : text(i * 9011, i)));
    const checks = ['none', 'crc32', 'crc64', 'sha256'];
    const streams = parts.flatMap((part, i) => [
      xz(part, `-${i % 3}`, `--check=${checks[i % 4]}`),
      Buffer.alloc((i % 4) * 4),
    ]);
    const whole = Buffer.concat(parts);
    expect((await decode(Buffer.concat(streams))).equals(whole)).toBe(true);
    expect((await decode(Buffer.concat([...streams, Buffer.alloc(4_000_000)]))).equals(whole)).toBe(true);
  });

  test('streams with larger and larger dictionaries', async () => {
    const sizes = ['4KiB', '1MiB', '64KiB', '12MiB', '8MiB'];
    const parts = sizes.map((_, i) =>
      Buffer.concat([noise(60_000 + i), text(400_000, i), noise(60_000 + i)]),
    );
    const file = Buffer.concat(parts.map((part, i) => xz(part, `--lzma2=preset=1,dict=${sizes[i]}`)));
    const growing = createCrew((needed) => ({ count: 2, inputBytes: 70_000, windowBytes: needed }));
    expect((await decode(file, growing)).equals(Buffer.concat(parts))).toBe(true);
    await growing.stop();
  });

  test('whatever it is', async () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
      fc
        .record({ byte: fc.nat(255), length: fc.integer({ min: 1, max: 700 }) })
        .map(({ byte, length }) => Buffer.alloc(length, byte)),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 9 }), fc.nat(2000))
        .map(([bytes, times]) => Buffer.concat(Array(times).fill(Buffer.from(bytes)))),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.nat(6), async (pieces, level) => {
        const bytes = Buffer.concat(pieces);
        expect((await decode(xz(bytes, `-${level}`))).equals(bytes)).toBe(true);
      }),
      { numRuns: 10 },
    );
  });
});

describe('an xz file that is', () => {
  const whole = Buffer.concat([text(180_000, 9), noise(70_000), text(50_000, 9)]);
  const file = xz(whole, '-1', '-T2', '--block-size=90000');
  const single = xz(whole, '-1');

  test('cut off anywhere is truncated', async () => {
    const random = testRandom(5);
    for (const all of [file, single]) {
      const cuts = [0, 5, 6, 11, 12, 13, 20, 24, 30, 36, 37, 40];
      cuts.push(...[1, 2, 3, 4, 11, 12, 13, 16, 20, 28, 29, 60].map((bytes) => all.length - bytes));
      for (let i = 0; i < rounds(10); i += 1) cuts.push(Math.floor(random() * all.length));
      for (const cut of cuts) {
        await expect(decode(all.subarray(0, cut)), `cut at ${cut}`).rejects.toMatchObject({
          code: 'KND_IMAGE_TRUNCATED',
        });
      }
    }
  });

  test('cut off in its second stream is truncated', async () => {
    for (const more of [1, 5, 12, 13, 200, 30_000]) {
      const cut = Buffer.concat([file, single.subarray(0, more)]);
      await expect(decode(cut)).rejects.toMatchObject({ code: 'KND_IMAGE_TRUNCATED' });
    }
  });

  test('followed by something else is corrupt', async () => {
    for (const junk of [
      'junk behind the end',
      '\0',
      '\0\0\0\0junk behind the end',
      `${'\0'.repeat(30_001)}`,
    ]) {
      const longer = Buffer.concat([file, Buffer.from(junk, 'latin1')]);
      await expect(decode(longer)).rejects.toMatchObject({ code: 'KND_IMAGE_CORRUPT' });
    }
  });

  test('damaged by one bit is an error, or its bytes are right', async () => {
    const random = testRandom(11);
    const count = rounds(50);
    const codes = new Map<string, number>();
    for (let i = 0; i < count; i += 1) {
      const bad = Buffer.from(i % 2 === 0 ? file : single);
      // half of them where the headers are, or the index
      const places = [random() * 60, bad.length - 1 - random() * 60, random() * bad.length];
      const at = Math.floor(places[i % 3] ?? 0);
      bad[at] = (bad[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      const found = await decode(bad, i % 5 === 0 ? tight : several).catch(
        (error: { code?: string }) => error.code ?? String(error),
      );
      if (typeof found === 'string') codes.set(found, (codes.get(found) ?? 0) + 1);
      else expect(found.equals(whole), `bit at ${at}`).toBe(true);
    }
    const known = /^KND_IMAGE_(CORRUPT|UNSUPPORTED|TRUNCATED)$/;
    expect(
      [...codes.keys()].filter((code) => !known.test(code)),
      [...codes].join(),
    ).toEqual([]);
    expect(codes.get('KND_IMAGE_CORRUPT')).toBeGreaterThan(count * 0.7);
  });

  test('damaged in many places is an error, and soon', async () => {
    const random = testRandom(12);
    for (let i = 0; i < rounds(20); i += 1) {
      const bad = Buffer.from(i % 2 === 0 ? file : single);
      const count = 1 + Math.floor(random() * 50);
      const from = random() < 0.5 ? 28 : 0;
      for (let n = 0; n < count; n += 1) {
        const at = from + Math.floor(random() * (bad.length - from));
        bad[at] = Math.floor(random() * 256);
      }
      const found = await decode(bad).catch((error: { code?: string }) => error.code ?? String(error));
      if (typeof found === 'string') expect(found).toMatch(/^KND_IMAGE_(CORRUPT|UNSUPPORTED|TRUNCATED)$/);
      else expect(found.equals(whole)).toBe(true);
    }
  });

  test('without checks and damaged in its chunks never ends the decoder', async () => {
    const random = testRandom(13);
    const unchecked = xz(mixed, '-1', '--check=none');
    for (let i = 0; i < rounds(12); i += 1) {
      const bad = Buffer.from(unchecked);
      for (let n = 0; n < 3; n += 1) {
        bad[28 + Math.floor(random() * (bad.length - 70))] = Math.floor(random() * 256);
      }
      const found = await decode(bad, tight).catch((error: { code?: string }) => error.code ?? String(error));
      if (typeof found === 'string') expect(found).toMatch(/^KND_IMAGE_(CORRUPT|TRUNCATED)$/);
    }
    // and the same threads go on
    expect((await decode(unchecked, tight)).equals(mixed)).toBe(true);
  });

  test('of a kind that nobody knows yet is not supported', async () => {
    const check = Buffer.from(single);
    check[7] = 2;
    check.writeUInt32LE(crc32(check.subarray(6, 8)), 8);
    await expect(decode(check)).rejects.toMatchObject({ code: 'KND_IMAGE_UNSUPPORTED' });
    const flags = Buffer.from(single);
    flags[13] = (flags[13] ?? 0) | 4;
    sealBlockHeader(flags);
    await expect(decode(flags)).rejects.toMatchObject({ code: 'KND_IMAGE_UNSUPPORTED' });
  });
});

/** Makes the CRC of the first block header right. */
function sealBlockHeader(file: Buffer): void {
  const end = 12 + ((file[12] ?? 0) + 1) * 4;
  file.writeUInt32LE(crc32(file.subarray(12, end - 4)), end - 4);
}

describe('threads for a file', () => {
  const block = { compressedSize: undefined, uncompressedSize: undefined, dictionary: 8 * MIB, filters: [] };
  const node = { cores: 4, memory: 512 * MIB };

  test('of one block are one, with room behind the dictionary', () => {
    const plan = planThreads(block, node);
    expect(plan).toMatchObject({ count: 1, windowBytes: 12 * MIB });
    expect(planThreads({ ...block, uncompressedSize: 2 ** 33 }, node)).toEqual(plan);
  });

  test('of several blocks are as many as cores and memory allow', () => {
    const sized = (size: number, dictionary: number) =>
      planThreads({ ...block, uncompressedSize: size * MIB, dictionary: dictionary * MIB }, node);
    expect(sized(3, 1).count).toBe(4);
    expect(sized(24, 8).count).toBe(3);
    expect(sized(192, 64).count).toBe(1);
    for (const { count, inputBytes, windowBytes } of [sized(3, 1), sized(24, 8)]) {
      expect(count * (inputBytes + windowBytes)).toBeLessThanOrEqual(96 * MIB);
    }
    // the dictionary of one thread has to be, whatever it takes
    expect(sized(192, 64)).toMatchObject({ inputBytes: 2 * MIB, windowBytes: 96 * MIB });
  });

  test('always have room for what a block needs', () => {
    for (const dictionary of [4096, MIB, 3 * MIB, 64 * MIB]) {
      for (const uncompressedSize of [undefined, 1, 100_000, 3 * MIB, 24 * MIB, 2 ** 40]) {
        const one = { ...block, dictionary, uncompressedSize };
        expect(planThreads(one, node).windowBytes).toBeGreaterThanOrEqual(leastWindow(one));
      }
    }
  });

  test('are not started for a dictionary that the machine has no memory for', () => {
    expect(() => planThreads({ ...block, dictionary: 300 * MIB }, node)).toThrow(/larger xz dictionary/);
    expect(() => planThreads({ ...block, dictionary: 2 ** 32 - 1 }, { ...node, memory: 2 ** 40 })).toThrow(
      /larger xz dictionary/,
    );
    // nothing in so short a block can refer farther back than it is long
    const short = { ...block, dictionary: 2 ** 32 - 1, uncompressedSize: MIB };
    expect(planThreads(short, node).count).toBe(4);
  });
});
