import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDiskImage } from '../actions/image-writer/test-image.ts';

const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;
const MIB = 1024 * 1024;
const RAW = makeDiskImage(12 * MIB, 71);

let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-image-cli-'));
  await writeFile(at('disk.raw'), RAW);
});
afterAll(() => rm(folder, { recursive: true }));

async function image(...args: string[]) {
  const { exitCode, stdout, stderr } = await execa(process.execPath, [MAIN, 'image', ...args], {
    reject: false,
    cwd: folder,
  });
  return { exitCode, out: stdout, err: stderr };
}

const digest = async (name: string) =>
  createHash('sha256')
    .update(await readFile(at(name)))
    .digest('hex');

describe('kindling image', () => {
  test('index, sign, verify, extract: the way of a publisher, the same bytes every time', async () => {
    const made = await image('index', 'disk.raw', '--chunk-size', '1');
    expect(made.exitCode).toBe(0);
    expect(made.out).toContain('12 chunks');
    expect(made.out).toContain('not signed');
    const first = { blob: await digest('disk.raw.zst'), manifest: await digest('disk.raw.zst.manifest') };

    expect(await image('sign', 'disk.raw.zst.manifest', '--key', 'site.pem', '--new-key')).toMatchObject({
      exitCode: 0,
      out: 'disk.raw.zst.manifest: signed',
    });
    expect((await stat(at('site.pem'))).mode & 0o777).toBe(0o600);
    const verified = await image('verify', 'disk.raw.zst', '--trust', 'site.pem.pub');
    expect(verified.exitCode).toBe(0);
    expect(verified.out).toMatch(/^root [0-9a-f]{64}, signed by a trusted key$/);
    expect((await image('extract', 'disk.raw.zst', 'again.raw')).exitCode).toBe(0);
    expect((await readFile(at('again.raw'))).equals(RAW)).toBe(true);

    // once more, signed at once: the same file, and the same manifest but for the signature
    await image('index', 'disk.raw', '--chunk-size', '1', '-o', 'second.zst', '--key', 'site.pem');
    expect(await digest('second.zst')).toBe(first.blob);
    expect(await digest('second.zst.manifest')).toBe(await digest('disk.raw.zst.manifest'));
    expect(first.manifest).not.toBe(await digest('second.zst.manifest'));
  });

  test('index says which version the image is and until when it is good', async () => {
    const edition = ['--image-version', '7', '--expires', '2199-06-30'];
    await image('index', 'disk.raw', '--chunk-size', '1', '-o', 'edition.zst', ...edition);
    expect(await readFile(at('edition.zst.manifest'), 'utf8')).toContain(
      '"version":7,"expires":"2199-06-30T23:59:59.999Z"',
    );
    for (const [option = '', value = ''] of [
      ['--image-version', '0'],
      ['--expires', 'soon'],
      ['--expires', '2020-01-01'],
    ])
      expect((await image('index', 'disk.raw', option, value)).err, value).toContain('KND_USAGE');
  });

  test('verify finds a flipped bit, a cut file, a stranger’s key', async () => {
    const good = await readFile(at('disk.raw.zst'));
    const bad = Buffer.from(good);
    bad[5000] = (bad[5000] ?? 0) ^ 1;
    await writeFile(at('bad.zst'), bad);
    await writeFile(at('bad.zst.manifest'), await readFile(at('disk.raw.zst.manifest')));
    const flipped = await image('verify', 'bad.zst');
    expect(flipped.exitCode).toBe(1);
    expect(flipped.err).toContain('KND_IMAGE_HASH');
    await writeFile(at('bad.zst'), good.subarray(0, 9000));
    expect((await image('verify', 'bad.zst')).err).toContain('KND_IMAGE_LENGTH');
    await writeFile(at('other'), RAW.subarray(0, 100));
    await image('sign', 'other', '--key', 'stranger.pem', '--new-key');
    expect((await image('verify', 'disk.raw.zst', '--trust', 'stranger.pem.pub')).err).toContain(
      'KND_IMAGE_SIGNATURE',
    );
    expect((await image('sign', 'other', '--key', 'stranger.pem', '--new-key')).exitCode).toBe(2);
  });

  test('diff says what an update costs', async () => {
    const changed = Buffer.from(RAW);
    changed.fill(0x5a, 7 * MIB + 100, 7 * MIB + 200);
    await writeFile(at('next.raw'), changed);
    await image('index', 'next.raw', '--chunk-size', '1');
    const compared = await image('diff', 'disk.raw.zst.manifest', 'next.raw.zst.manifest', '--json');
    expect(JSON.parse(compared.out)).toMatchObject({ total: 12, changed: [7] });
    const same = await image('diff', 'disk.raw.zst.manifest', 'disk.raw.zst.manifest');
    expect(same.out).toContain('0 of 12 chunks differ');
  });

  test('index leaves out what no file uses and says so; --keep-unused keeps every byte', async () => {
    await writeFile(at('ext4.raw'), '');
    await truncate(at('ext4.raw'), 32 * MIB);
    await execa('mke2fs', ['-q', '-t', 'ext4', '-F', at('ext4.raw')]);
    const [kept, deleted] = [randomBytes(3 * MIB), randomBytes(12 * MIB)];
    await writeFile(at('kept'), kept);
    await writeFile(at('deleted'), deleted);
    const debugfs = (request: string) => execa('debugfs', ['-w', '-R', request, at('ext4.raw')]);
    await debugfs(`write ${at('deleted')} deleted`);
    await debugfs(`write ${at('kept')} kept`);
    await debugfs('rm deleted');
    await image('index', 'ext4.raw', '--chunk-size', '1', '-o', 'all.zst', '--keep-unused');
    const made = await image('index', 'ext4.raw', '--chunk-size', '1', '-o', 'used.zst');
    expect(made.out).toMatch(/^the image \(ext4\): [\d.]+ MB unused, left out$/m);
    const [all, used] = [await stat(at('all.zst')), await stat(at('used.zst'))];
    expect(all.size - used.size).toBeGreaterThan(11 * MIB);
    expect((await image('verify', 'used.zst')).exitCode).toBe(0);
    await image('extract', 'used.zst', 'used.raw');
    await execa('e2fsck', ['-fn', at('used.raw')]);
    await execa('debugfs', ['-R', `dump kept ${at('back')}`, at('used.raw')]);
    expect((await readFile(at('back'))).equals(kept)).toBe(true);
    await image('extract', 'all.zst', 'all.raw');
    expect(await digest('all.raw')).toBe(await digest('ext4.raw'));
  });

  test('nothing is overwritten by what fails, and never the input', async () => {
    const before = await digest('disk.raw');
    const over = await image('index', 'disk.raw', '-o', 'disk.raw');
    expect(over).toMatchObject({ exitCode: 2, err: expect.stringContaining('KND_USAGE') });
    expect(await digest('disk.raw')).toBe(before);
    await writeFile(at('old.raw'), 'old');
    const bad = await readFile(at('disk.raw.zst'));
    bad[bad.length - 20] = (bad[bad.length - 20] ?? 0) ^ 1;
    await writeFile(at('half.zst'), bad);
    await writeFile(at('half.zst.manifest'), await readFile(at('disk.raw.zst.manifest')));
    expect((await image('extract', 'half.zst', 'old.raw')).err).toContain('KND_IMAGE_HASH');
    expect(await readFile(at('old.raw'), 'utf8')).toBe('old');
    expect((await image('extract', 'half.zst', 'half.raw')).exitCode).toBe(1);
    expect((await readdir(folder)).filter((name) => /half.raw|\.part$/.test(name))).toEqual([]);
    expect((await image('extract', 'disk.raw.zst', '/dev/null')).err).toContain('is not a file');
  });

  test('every container that is no raw image is named', async () => {
    for (const [program, args, name] of [
      ['gzip', ['-c'], 'gzip'],
      ['bzip2', ['-c'], 'bzip2'],
      ['xz', ['-0', '-c'], 'xz'],
      ['zstd', ['-c'], 'zstd'],
    ] as const) {
      const { stdout } = await execa(program, args, { input: RAW.subarray(0, MIB), encoding: 'buffer' });
      await writeFile(at(`packed.${name}`), stdout);
      const { exitCode, err } = await image('index', `packed.${name}`);
      expect(exitCode).toBe(2);
      expect(err).toContain(`not a raw disk image but ${name}`);
    }
  });

  test('bad input says what is wrong', async () => {
    await writeFile(at('empty'), '');
    expect((await image('index', 'empty')).exitCode).toBe(2);
    expect((await image('index', 'disk.raw', '--chunk-size', 'many')).exitCode).toBe(2);
    expect((await image('index', 'disk.raw', '--chunk-size', '32')).err).toContain('1 to 16 MiB');
    expect((await image('index', 'disk.raw', '--level', '40')).err).toContain('levels 1 to 19');
    expect((await image('index', 'disk.raw', '--key', 'disk.raw')).err).toContain(
      'not an Ed25519 private key',
    );
    expect((await image('verify', 'missing.zst')).err).toContain(
      'missing.zst.manifest cannot be read (ENOENT)',
    );
    expect((await image('verify', 'disk.raw.zst', '--trust', 'disk.raw')).err).toContain(
      'not an Ed25519 public key',
    );
    expect((await image('verify', 'disk.raw.zst')).out).toMatch(/signed by [0-9a-f]{16} \(not checked/);
    expect((await image('extract', 'disk.raw.zst', 'x.raw', '--trust', 'stranger.pem.pub')).err).toContain(
      'KND_IMAGE_SIGNATURE',
    );
    await writeFile(at('page.zst.manifest'), '<html>404</html>');
    await writeFile(at('page.zst'), 'x');
    expect((await image('verify', 'page.zst')).err).toContain('KND_IMAGE_MANIFEST');
  });
});
