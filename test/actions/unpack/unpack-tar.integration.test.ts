import { execFileSync } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unpackTar } from '../../../actions/unpack/unpack-tar.ts';
import { run } from '../../../system/run.ts';
import { tarOf } from '../registry/test-registry.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-unpack-'));
});
afterEach(() => rm(folder, { recursive: true }));

const unpack = (bytes: Buffer, hasWhiteouts = false) =>
  unpackTar(Readable.from([bytes]), folder, { run, signal: new AbortController().signal, hasWhiteouts });

describe('unpacking', () => {
  it('keeps owners, modes, times, links, devices and attributes of what GNU tar packed', async () => {
    const script = `d=$(mktemp -d) && cd $d && echo hi > a && chown 12:34 a && chmod 4755 a && touch -d @1000000000 a && ln -s a s && ln a h &&
      mknod n c 1 3 && mkfifo f && mkdir -m 1777 t && python3 -c 'import os; os.setxattr("a", "user.test", b"v\\x80\\xff\\x00=\\n")' &&
      ln s second && chown 3000000:3000001 f &&
      tar --xattrs --xattrs-include='*' --format=pax -cf - . && cd / && rm -r $d`;
    await unpack(execFileSync('sh', ['-c', script], { maxBuffer: 1 << 24 }));
    expect(await lstat(path.join(folder, 'a'))).toMatchObject({
      uid: 12,
      gid: 34,
      mode: 0o104755,
      nlink: 2,
      mtimeMs: 1e12,
    });
    expect(await readlink(path.join(folder, 's'))).toBe('a');
    expect((await lstat(path.join(folder, 'n'))).isCharacterDevice()).toBe(true);
    expect((await lstat(path.join(folder, 'f'))).isFIFO()).toBe(true);
    expect((await lstat(path.join(folder, 't'))).mode & 0o7777).toBe(0o1777);
    const value = execFileSync('python3', [
      '-c',
      `import os; print(os.getxattr("${folder}/a", "user.test").hex())`,
    ]);
    expect(value.toString().trim()).toBe(Buffer.from('v\x80\xff\x00=\n', 'latin1').toString('hex'));
    expect(await readlink(path.join(folder, 'second'))).toBe('a');
    expect(await lstat(path.join(folder, 'f'))).toMatchObject({ uid: 3_000_000, gid: 3_000_001 });
  });

  it('cannot be led out of its folder, neither by .. nor by a link', async () => {
    await unpack(
      await tarOf({
        '../../escaped': 'x',
        out: { type: 'symlink', linkname: '/tmp' },
        'out/kindling-escaped': 'x',
        up: { type: 'symlink', linkname: '../../../..' },
        'up/kindling-escaped': 'x',
      }),
    );
    expect(await readdir('/tmp')).not.toContain('kindling-escaped');
    expect(await readdir('/')).not.toContain('kindling-escaped');
    expect(await readFile(path.join(folder, 'escaped'), 'utf8')).toBe('x');
    expect(await readFile(path.join(folder, 'tmp/kindling-escaped'), 'utf8')).toBe('x');
  });

  /** A folder with a neighbor, which no archive for the folder may touch. */
  async function nested(bytes: Buffer, hasWhiteouts = false) {
    const [inside, neighbor] = [path.join(folder, 'inside'), path.join(folder, 'neighbor')];
    await mkdir(inside);
    await mkdir(neighbor, { mode: 0o700 });
    await writeFile(path.join(neighbor, 'kept'), 'x');
    await symlink('../neighbor', path.join(inside, 'link'));
    const outcome = await unpackTar(Readable.from([bytes]), inside, {
      run,
      signal: new AbortController().signal,
      hasWhiteouts,
    }).catch((thrown: unknown) => thrown);
    expect(await readdir(neighbor)).toEqual(['kept']);
    expect((await lstat(neighbor)).mode & 0o777).toBe(0o700);
    return { outcome, names: (await readdir(inside)).sort() };
  }

  it.each(['..', 'a/../..', './..', '.', '/'])(
    'an entry called %s replaces nothing above it',
    async (name) => {
      const { outcome, names } = await nested(await tarOf({ [name]: { type: 'file', content: 'x' } }));
      expect(outcome).toMatchObject({ code: 'KND_ARCHIVE_INVALID' });
      expect(names).toContain('link');
    },
  );

  it.each(['.wh.', '.wh..', '.wh...'])('a whiteout called %s removes nothing', async (name) => {
    const { outcome, names } = await nested(await tarOf({ [name]: '' }), true);
    expect(outcome).toMatchObject({ code: 'KND_ARCHIVE_INVALID' });
    expect(names).toContain('link');
  });

  it.each([true, false])(
    'a directory in the place of a link (layer: %s) does not reach through it',
    async (isLayer) => {
      const bytes = await tarOf({
        link: { type: 'directory', mode: 0o777 },
        '..': { type: 'directory', mode: 0o755 },
        'link/new': 'y',
      });
      const { outcome } = await nested(bytes, isLayer);
      expect(outcome).toMatchObject({ entries: 3 });
      const at = path.join(folder, 'inside', isLayer ? 'link' : 'neighbor');
      expect(await lstat(at)).toMatchObject({ mode: 0o40777 });
      expect(await readdir(at)).toEqual(['new']);
    },
  );

  it('an opaque mark hides what lower layers had in every depth, and nothing of its own layer', async () => {
    await unpack(await tarOf({ 'o/sub/old': 'x', 'o/old': 'x', 'o/both': 'lower' }));
    await unpack(
      await tarOf({ 'o/sub/new': 'y', 'o/both': 'upper', 'o/.wh..wh..opq': '', '.wh.o': '' }),
      true,
    );
    expect((await readdir(path.join(folder, 'o'))).sort()).toEqual(['both', 'sub']);
    expect(await readdir(path.join(folder, 'o/sub'))).toEqual(['new']);
    expect(await readFile(path.join(folder, 'o/both'), 'utf8')).toBe('upper');
  });

  it.each(['gnu', 'pax'])('a sparse file (%s) is refused, not left out or spoilt', async (format) => {
    const script = `d=$(mktemp -d) && cd $d && truncate -s 1M a && printf x >> a && tar --sparse --format=${format} -cf - a && cd / && rm -r $d`;
    await expect(unpack(execFileSync('sh', ['-c', script]))).rejects.toMatchObject({
      code: 'KND_ARCHIVE_INVALID',
    });
  });

  it('fails on an archive that was cut off', async () => {
    const whole = await tarOf({ a: 'x'.repeat(5000) });
    await expect(unpack(whole.subarray(0, 3000))).rejects.toThrow();
  });
});
