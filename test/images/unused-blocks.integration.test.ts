import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeManifest } from '../../formats/image-manifest.ts';
import { extractImage } from '../../images/chunked-file.ts';
import { type IndexResult, indexImage } from '../../images/index-image.ts';
import { findUnusedBlocks, type UnusedBlocks } from '../../images/unused/find-unused.ts';
import { contentsOf, emptyImage, useFileSystem, whileMounted } from './used-file-system.ts';

const MIB = 1024 * 1024;
let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-unused-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Through the chunked image and back; answers what was found, with the result in `back.raw`. */
async function andBack(raw: string): Promise<IndexResult> {
  const result = await indexImage(at(raw), at('image.zst'), { level: 1, omitUnused: true });
  await extractImage(at('image.zst'), decodeManifest(result.manifest), at('back.raw'));
  return result;
}

async function unusedIn(raw: string): Promise<UnusedBlocks> {
  await using image = await open(at(raw), 'r');
  return await findUnusedBlocks(image, (await image.stat()).size);
}

const ext = (type: string, ...more: string[]) => ['mke2fs', '-q', '-F', '-t', type, ...more];
const KINDS = [
  { type: 'ext4', make: ext('ext4'), check: ['e2fsck', '-fn'], mib: 160 },
  { type: 'ext3', make: ext('ext3', '-b', '1024'), check: ['e2fsck', '-fn'], mib: 160 },
  { type: 'ext2', make: ext('ext2'), check: ['e2fsck', '-fn'], mib: 160 },
  { type: 'xfs', make: ['mkfs.xfs', '-q', '-m', 'rmapbt=1'], check: ['xfs_repair', '-n'], mib: 320 },
  { type: 'btrfs', make: ['mkfs.btrfs', '-q'], check: ['btrfs', 'check', '-q'], mib: 320 },
];

describe('what no file uses is left out', () => {
  test.each(KINDS)('$type that was used: every file is there, the file system is clean', async (kind) => {
    const { type, make, check, mib } = kind;
    await emptyImage(at('raw'), mib * MIB);
    const [mkfs = '', ...args] = make;
    await execa(mkfs, [...args, at('raw')]);
    const before = await whileMounted(at('raw'), async (mounted) => {
      await useFileSystem(mounted, 64 * MIB, mib);
      return contentsOf(mounted);
    });
    const result = await andBack('raw');
    expect(result.findings).toEqual([{ name: 'the image', type, unusedBytes: expect.any(Number) }]);
    expect(result.unusedBytes).toBeGreaterThan(40 * MIB);
    const [fsck = '', ...options] = check;
    await execa(fsck, [...options, at('back.raw')]);
    expect(await whileMounted(at('back.raw'), contentsOf, 'loop,ro')).toEqual(before);
    // the same files, and less to store than when everything is kept
    const all = await indexImage(at('raw'), at('all.zst'), { level: 1 });
    expect(all.blobSize - result.blobSize).toBeGreaterThan(20 * MIB);
  });

  test.each([
    { width: 12, mib: 4 },
    { width: 16, mib: 60 },
    { width: 32, mib: 300 },
  ])('FAT$width: every file is there, the file system is clean', async ({ width, mib }) => {
    await emptyImage(at('raw'), mib * MIB);
    await execa('mkfs.vfat', ['-F', String(width), at('raw')]);
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`file-${i}.bin`, randomBytes((i % 7) * 12_345 + 100)]),
    );
    const copy = (name: string) => execFileSync('mcopy', ['-o', '-i', at('raw'), at(name), `::${name}`]);
    for (const [name, bytes] of Object.entries(files)) await writeFile(at(name), bytes);
    for (const name of Object.keys(files)) copy(name);
    // deleted, and put again into what became free: most of them lie in pieces now
    const deleted = Object.keys(files).filter((_, i) => i % 3 === 1);
    for (const name of deleted) execFileSync('mdel', ['-i', at('raw'), `::${name}`]);
    for (const name of deleted.slice(5)) copy(name);
    const { findings } = await andBack('raw');
    expect(findings).toEqual([{ name: 'the image', type: 'vfat', unusedBytes: expect.any(Number) }]);
    expect(findings[0]?.unusedBytes).toBeGreaterThan(mib * MIB - 3 * MIB);
    await execa('fsck.vfat', ['-n', at('back.raw')]);
    for (const [name, bytes] of Object.entries(files)) {
      if (deleted.slice(0, 5).includes(name)) continue;
      const back = execFileSync('mtype', ['-i', at('back.raw'), `::${name}`], { maxBuffer: MIB });
      expect(back.equals(bytes), name).toBe(true);
    }
    expect((await readFile(at('raw'))).equals(await readFile(at('back.raw')))).toBe(false);
  });

  test('a disk with several of them: each partition is told, and what lies beside them stays', async () => {
    await emptyImage(at('disk.raw'), 120 * MIB);
    await execa('sfdisk', ['-q', at('disk.raw')], { input: 'label: gpt\n2048,32M\n,16M\n,8M\n' });
    const dd = (name: string, seek: number) =>
      execa('dd', [`if=${at(name)}`, `of=${at('disk.raw')}`, 'bs=1M', `seek=${seek}`, 'conv=notrunc']);
    await emptyImage(at('esp'), 32 * MIB);
    await execa('mkfs.vfat', ['-F', '32', at('esp')]);
    await writeFile(at('garbage'), randomBytes(4 * MIB));
    await writeFile(at('swap'), randomBytes(16 * MIB));
    await execa('mkswap', [at('swap')]);
    await dd('esp', 1);
    await dd('garbage', 10); // somewhere amid the free clusters
    await dd('swap', 33);
    await dd('garbage', 49); // a partition of nobody knows what
    await dd('garbage', 60); // outside of every partition
    const { findings } = await andBack('disk.raw');
    expect(findings).toMatchObject([
      { name: 'partition 1', type: 'vfat' },
      { name: 'partition 2', type: 'swap', unusedBytes: 16 * MIB - 4096 },
      { name: 'partition 3', unusedBytes: 0, kept: 'nothing known is in it' },
    ]);
    const [before, after] = [await readFile(at('disk.raw')), await readFile(at('back.raw'))];
    const isSame = (from: number, to: number) =>
      before.subarray(from * MIB, to * MIB).equals(after.subarray(from * MIB, to * MIB));
    expect([isSame(0, 2), isSame(10, 14), isSame(49, 120)]).toEqual([true, false, true]);
    expect(after.subarray(10 * MIB, 14 * MIB).equals(Buffer.alloc(4 * MIB))).toBe(true);
    expect(after.subarray(33 * MIB, 33 * MIB + 4096).equals(before.subarray(33 * MIB, 33 * MIB + 4096))).toBe(
      true,
    );
  });
});

describe('what is in doubt is kept whole, and the reason is told', () => {
  async function change(name: string, position: number, bytes: Buffer): Promise<void> {
    await using file = await open(at(name), 'r+');
    await file.write(bytes, 0, bytes.length, position);
  }

  async function expectKept(reason: string | RegExp, name = 'raw'): Promise<void> {
    const { findings, ranges } = await unusedIn(name);
    expect(ranges).toEqual([]);
    expect(findings.map(({ kept }) => kept)).toContainEqual(
      typeof reason === 'string' ? reason : expect.stringMatching(reason),
    );
  }

  /** A copy of the file system as it is on the disk while it is mounted: what a careless snapshot takes. */
  async function takenWhileMounted(mkfs: string[], mib: number): Promise<void> {
    await emptyImage(at('live'), mib * MIB);
    const [program = '', ...args] = mkfs;
    await execa(program, [...args, at('live')]);
    await whileMounted(at('live'), async (mounted) => {
      await useFileSystem(mounted, 8 * MIB, 5);
      await execa('sync', ['-f', mounted]);
      await execa('cp', ['--sparse=always', at('live'), at('raw')]);
    });
  }

  test('taken while it was mounted: ext4, xfs', async () => {
    await takenWhileMounted(ext('ext4'), 64);
    await expectKept('it was not unmounted cleanly');
    await takenWhileMounted(['mkfs.xfs', '-q'], 320);
    await expectKept(/^its log is not clean/);
  });

  test('a btrfs with a log to replay', async () => {
    await emptyImage(at('live'), 320 * MIB);
    await execa('mkfs.btrfs', ['-q', at('live')]);
    await whileMounted(at('live'), async (mounted) => {
      await using file = await open(join(mounted, 'written'), 'w');
      await file.write(randomBytes(MIB));
      await file.sync(); // into the log, before the next whole commit
      await execa('cp', ['--sparse=always', at('live'), at('raw')]);
    });
    await expectKept('it was not unmounted cleanly');
  });

  test('FAT: in use, or two tables that differ, or a count that does', async () => {
    await emptyImage(at('raw'), 300 * MIB);
    await execa('mkfs.vfat', ['-F', '32', at('raw')]);
    const good = (await readFile(at('raw'))).subarray(0, MIB);
    const reserved = good.readUInt16LE(14) * 512;
    await change('raw', 65, Buffer.from([1]));
    await expectKept('it was not unmounted cleanly');
    await change('raw', 65, Buffer.from([0]));
    await change('raw', reserved + 4, Buffer.from([0xff, 0xff, 0xff, 0x07]));
    await expectKept('the copies of its allocation table differ');
    await change('raw', 0, good);
    await change('raw', 512 + 488, Buffer.from([5, 0, 0, 0]));
    await expectKept('its count of free clusters is wrong');
  });

  test('a bit flipped in an allocation structure of ext4, xfs, btrfs', async () => {
    await emptyImage(at('raw'), 64 * MIB);
    await execa('mke2fs', ['-q', '-F', '-t', 'ext4', '-b', '4096', at('raw')]);
    const bitmaps = execFileSync('dumpe2fs', [at('raw')], { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    const bitmapAt = Number(/Block bitmap at (\d+)/.exec(bitmaps)?.[1]) * 4096;
    await change('raw', bitmapAt + 2000, Buffer.from([0x01]));
    await expectKept('its block bitmaps and counts differ');
    await emptyImage(at('raw'), 320 * MIB);
    await execa('mkfs.xfs', ['-q', at('raw')]);
    await change('raw', 512 + 53, Buffer.from([0x01]));
    await expectKept('allocation group 0 makes no sense');
    await emptyImage(at('raw'), 320 * MIB);
    await execa('mkfs.btrfs', ['-q', at('raw')]);
    await change('raw', 0x1_0078, Buffer.from([0x01]));
    await expectKept('a checksum is wrong');
  });

  test('two file systems at once, an unknown feature, a hash tree, a trailer, a CD', async () => {
    for (const mkfs of [['mkfs.xfs', '-q', '-f'], ['mkfs.btrfs', '-q', '-f'], ['mkfs.vfat'], ['mkswap']]) {
      await emptyImage(at('raw'), 320 * MIB);
      await execa('mke2fs', ['-q', '-t', 'ext4', '-F', at('raw')]);
      const superblock = Buffer.from((await readFile(at('raw'))).subarray(1024, 2048));
      const [program = '', ...args] = mkfs;
      await execa(program, [...args, at('raw')]);
      await change('raw', 1024, superblock); // whatever the tool wiped: the worst that can be left over
      await expectKept(/^it looks like .* at once$/);
    }
    const plain = async () => {
      await emptyImage(at('raw'), 64 * MIB);
      await execa('mke2fs', ['-q', '-F', '-t', 'ext4', at('raw'), '48m']);
    };
    await plain();
    expect((await unusedIn('raw')).bytes).toBeGreaterThan(10 * MIB);
    await change('raw', 50 * MIB, Buffer.from('hashes of every block'));
    await expectKept('something lies behind it in its partition');
    await plain();
    await change('raw', 1024 + 0x62, Buffer.from([0x80]));
    await expectKept('it has features that are not known here');
    await plain();
    await change('raw', 32 * 1024, Buffer.from('\x01CD001'));
    await expectKept('the image is a CD, on which a partition can be a file');

    await emptyImage(at('disk.raw'), 64 * MIB);
    await execa('sfdisk', ['-q', at('disk.raw')], { input: 'label: gpt\n2048,32M\n,8M\n' });
    await execa('mke2fs', ['-q', '-F', '-t', 'ext4', '-E', 'offset=1048576', at('disk.raw'), '32m']);
    expect((await unusedIn('disk.raw')).bytes).toBeGreaterThan(10 * MIB);
    await change('disk.raw', 33 * MIB, Buffer.from('verity\0\0\x01'));
    await expectKept('the image has a dm-verity hash tree, which may cover free blocks too', 'disk.raw');
  });

  test('garbage in every field never leaves anything out that should not be, nor ends the command', async () => {
    for (const mkfs of [['mkfs.xfs', '-q', '-f'], ['mkfs.btrfs', '-q', '-f'], ['mkfs.vfat'], ext('ext4')]) {
      await emptyImage(at('raw'), 320 * MIB);
      const [program = '', ...args] = mkfs;
      await execa(program, [...args, at('raw')]);
      const heads: [number, number][] = [
        [11, 80],
        [1024, 1024],
        [0x1_0020, 0x400],
      ];
      for (const [from, length] of heads) {
        const whole = (await readFile(at('raw'))).subarray(0, MIB);
        for (let i = 0; i < 8; i += 1) {
          await change('raw', from + Math.floor((i * length) / 8), randomBytes(4));
          const { ranges } = await unusedIn('raw');
          for (const { start, end } of ranges) expect(start < end && end <= 320 * MIB).toBe(true);
          await change('raw', 0, whole);
        }
      }
    }
  });
});
