import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BlockThread } from '../../../../actions/image-writer/decoders/bz2/block-thread.ts';
import { compilePlainMachine } from '../../../../actions/image-writer/decoders/bz2/machine.ts';
import { BLOCK_MARK, type Mark, MarkFinder } from '../../../../actions/image-writer/decoders/bz2/marks.ts';
import { startBlockThreads } from '../../../../actions/image-writer/decoders/bz2.ts';
import fc from '../../../seeds/fast-check.ts';
import { rounds } from '../../../seeds/seeds.ts';
import { seededRandom } from '../test-image.ts';
import { bzip2, type DecodeOptions, decode as decodeWith } from './decode-bz2.ts';
import { noise, text } from './sample-data.ts';

const MACHINES = ['with vectors', 'without vectors'] as const;
const threads: Record<(typeof MACHINES)[number], BlockThread[]> = {
  'with vectors': [],
  'without vectors': [],
};
beforeAll(async () => {
  threads['with vectors'] = await startBlockThreads();
  threads['without vectors'] = await startBlockThreads(compilePlainMachine());
});
afterAll(async () => {
  await Promise.all(MACHINES.flatMap((name) => threads[name].map((thread) => thread.stop())));
});

const decode = (file: Buffer, options?: DecodeOptions) => decodeWith(threads['with vectors'], file, options);

const LEVELS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

const allBytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const runsOf = (length: number) =>
  Buffer.concat(Array.from({ length: 400 }, (_, i) => Buffer.alloc(length, i * 7)));

const DATA: Record<string, Buffer> = {
  nothing: Buffer.alloc(0),
  'one byte': Buffer.from('x'),
  'two equal bytes': Buffer.from('aa'),
  'four equal bytes': Buffer.from('aaaa'),
  'five equal bytes': Buffer.from('aaaaa'),
  'all bytes once': allBytes,
  'all bytes over and over': Buffer.concat(Array(3000).fill(allBytes)),
  'all bytes backwards': Buffer.concat(Array(900).fill(Buffer.from(allBytes).reverse())),
  'random bytes': noise(1_300_000),
  text: text(1_500_000, 1),
  zeros: Buffer.alloc(12_345_678),
  'one byte repeated': Buffer.alloc(3_000_000, 0xa5),
  'two bytes in turn': Buffer.from('ab'.repeat(600_000)),
  'a period of three': Buffer.from('abc'.repeat(333_333)),
  'a long period': Buffer.concat(Array(40).fill(noise(24_989))),
  'what encoded runs look like': Buffer.concat(
    Array(60_000).fill(Buffer.from([0, 0, 0, 0, 0xfb, 4, 4, 4, 4, 0])),
  ),
  'runs of 4': runsOf(4),
  'runs of 254': runsOf(254),
  'runs of 255': runsOf(255),
  'runs of 256': runsOf(256),
  'runs of 258': runsOf(258),
  'runs of 259': runsOf(259),
  'runs of 260': runsOf(260),
  // the run-length code of a block ends within a run
  'runs across the end of a block': Buffer.concat([
    noise(99_900),
    Buffer.alloc(5000, 7),
    noise(99_999),
    Buffer.alloc(300),
  ]),
};

describe('a bz2 file is decoded to what was compressed:', () => {
  test.each(Object.entries(DATA))('%s', async (_, bytes) => {
    for (const level of [1, 9]) {
      const file = bzip2(bytes, level);
      for (const name of MACHINES)
        expect((await decodeWith(threads[name], file)).equals(bytes), name).toBe(true);
    }
  });

  test.each(LEVELS)('level %d', async (level) => {
    const bytes = Buffer.concat([text(1_000_000, level), Buffer.alloc(400_000), noise(50_000)]);
    expect((await decode(bzip2(bytes, level))).equals(bytes)).toBe(true);
  });

  test('into blocks of any size', async () => {
    const bytes = Buffer.concat([text(300_000, 3), Buffer.alloc(1_000_000)]);
    const file = bzip2(bytes, 2);
    for (const blockBytes of [4096, 131_072, 131_073]) {
      expect((await decode(file, { blockBytes })).equals(bytes)).toBe(true);
    }
    expect((await decode(bzip2(Buffer.from('abc')), { blockBytes: 1 })).toString()).toBe('abc');
  });

  test('members one behind the other, empty ones among them, of all levels', async () => {
    const parts = [...LEVELS, ...LEVELS].map((level, i) =>
      i % 5 === 2 ? Buffer.alloc(0) : text(level * 30_011, i),
    );
    const file = Buffer.concat(parts.map((part, i) => bzip2(part, LEVELS[i % 9])));
    const whole = Buffer.concat(parts);
    expect((await decode(file)).equals(whole)).toBe(true);
    expect((await decode(Buffer.concat([file, Buffer.alloc(70_000)]))).equals(whole)).toBe(true);
  });

  test('whatever it is', async () => {
    const run = fc.record({ byte: fc.nat(255), length: fc.integer({ min: 1, max: 700 }) });
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
      run.map(({ byte, length }) => Buffer.alloc(length, byte)),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 9 }), fc.nat(2000))
        .map(([bytes, times]) => Buffer.concat(Array(times).fill(Buffer.from(bytes)))),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        async (pieces, level) => {
          const bytes = Buffer.concat(pieces);
          expect((await decode(bzip2(bytes, level))).equals(bytes)).toBe(true);
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe('marks in a bz2 file', () => {
  test('are found at every bit, however the file arrives', () => {
    const random = seededRandom(2);
    for (let bit = 40; bit < 300; bit += 1) {
      const bytes = Buffer.alloc(64);
      const value = BigInt(BLOCK_MARK) << BigInt(64 * 8 - bit - 48);
      Buffer.from(value.toString(16).padStart(128, '0'), 'hex').copy(bytes);
      const finder = new MarkFinder();
      const found: Mark[] = [];
      for (let length = 8; length < 64; length += 1 + Math.floor(random() * 20)) {
        found.push(...finder.find(bytes.subarray(0, length), 0));
      }
      found.push(...finder.find(bytes, 0));
      expect(found).toEqual([{ bit, isEnd: false }]);
    }
  });

  /** Finds marks where there are none, too. */
  class GullibleFinder extends MarkFinder {
    readonly #false: Mark[];
    constructor(bits: readonly number[]) {
      super();
      this.#false = bits.map((bit, i) => ({ bit, isEnd: i % 4 === 3 }));
    }
    override *find(bytes: Buffer, start: number): Generator<Mark> {
      const here = this.#false.filter(({ bit }) => bit < (start + bytes.length - 16) * 8);
      this.#false.splice(0, here.length);
      yield* [...super.find(bytes, start), ...here].sort((a, b) => a.bit - b.bit);
    }
  }

  test('found by mistake do no harm', async () => {
    const bytes = Buffer.concat([text(450_000, 6), noise(150_000), Buffer.alloc(600_000), text(99_999, 7)]);
    const file = Buffer.concat([bzip2(bytes, 1), bzip2(bytes, 9)]);
    const random = seededRandom(8);
    for (const count of [1, 2, 30, 400]) {
      const bits = Array.from({ length: count }, () => Math.floor(32 + random() * (file.length * 8 - 120)));
      const finder = new GullibleFinder(bits.sort((a, b) => a - b));
      expect((await decode(file, { finder })).equals(Buffer.concat([bytes, bytes]))).toBe(true);
    }
  });
});

describe('a bz2 file that is', () => {
  const whole = text(220_000, 9);
  const file = bzip2(whole, 1);

  test('cut off anywhere is truncated', async () => {
    const random = seededRandom(5);
    const ends = [3, 4, 9, 13, 14, 15, 18, 30, 60, 200];
    const cuts = [
      ...ends,
      ...ends.slice(1).map((bytes) => file.length - bytes),
      file.length - 1,
      file.length - 2,
    ];
    for (let i = 0; i < rounds(10); i += 1) cuts.push(Math.floor(random() * file.length));
    for (const cut of cuts) {
      await expect(decode(file.subarray(0, cut)), `cut at ${cut}`).rejects.toMatchObject({
        code: 'KND_IMAGE_TRUNCATED',
      });
    }
  });

  test('cut off in its second member is truncated', async () => {
    for (const more of [1, 3, 4, 8, 200]) {
      const cut = Buffer.concat([file, file.subarray(0, more)]);
      await expect(decode(cut)).rejects.toMatchObject({ code: 'KND_IMAGE_TRUNCATED' });
    }
  });

  test('followed by something else is corrupt', async () => {
    for (const junk of [
      'x',
      'BZx',
      'BZh0',
      'BZh:',
      '\0\0\0\0x',
      'junk behind the end',
      `${'\0'.repeat(300_000)}x`,
    ]) {
      const longer = Buffer.concat([file, Buffer.from(junk, 'latin1')]);
      await expect(decode(longer)).rejects.toMatchObject({ code: 'KND_IMAGE_CORRUPT' });
    }
  });

  test.each(MACHINES)('damaged by one bit is an error, or its bytes are right, decoded %s', async (name) => {
    const random = seededRandom(11);
    const codes = new Map<string, number>();
    for (let i = 0; i < rounds(25); i += 1) {
      const bad = Buffer.from(file);
      // half of them where the tables are
      const at = Math.floor(i % 2 === 0 ? 4 + random() * 150 : random() * bad.length);
      bad[at] = (bad[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      const found = await decodeWith(threads[name], bad).catch(
        (error: { code?: string }) => error.code ?? String(error),
      );
      if (typeof found === 'string') codes.set(found, (codes.get(found) ?? 0) + 1);
      else expect(found.equals(whole)).toBe(true);
    }
    expect(
      [...codes.keys()].every((code) => /^KND_IMAGE_(CORRUPT|UNSUPPORTED)$/.test(code)),
      [...codes].join(),
    ).toBe(true);
  });

  test('damaged in the first bytes of a later member is corrupt', async () => {
    for (const at of [0, 1, 2, 3, 4, 9, 10, 13]) {
      const second = Buffer.from(file);
      second[at] = (second[at] ?? 0) ^ 0x80;
      await expect(decode(Buffer.concat([file, second, file]))).rejects.toMatchObject({
        code: 'KND_IMAGE_CORRUPT',
      });
    }
  });

  test('randomized, as before bzip2 0.9.5, is not supported', async () => {
    const old = Buffer.from(file);
    old[14] = (old[14] ?? 0) | 0x80; // behind the header, the mark and the CRC
    await expect(decode(old)).rejects.toMatchObject({ code: 'KND_IMAGE_UNSUPPORTED' });
  });

  test('of a higher level than it says is corrupt', async () => {
    const lying = bzip2(noise(300_000), 9);
    lying[3] = 0x31;
    await expect(decode(lying)).rejects.toMatchObject({ code: 'KND_IMAGE_CORRUPT' });
  });
});
