import { execFileSync } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unpackTar } from '../../../actions/unpack/unpack-tar.ts';
import { run } from '../../../agent/system/run.ts';
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
      mknod n c 1 3 && mkfifo f && mkdir -m 1777 t && python3 -c 'import os; os.setxattr("a", "user.test", b"v")' &&
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
      `import os; print(os.getxattr("${folder}/a", "user.test").decode())`,
    ]);
    expect(value.toString().trim()).toBe('v');
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

  it('fails on an archive that was cut off', async () => {
    const whole = await tarOf({ a: 'x'.repeat(5000) });
    await expect(unpack(whole.subarray(0, 3000))).rejects.toThrow();
  });
});
