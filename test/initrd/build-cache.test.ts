import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cached } from '../../initrd/build-cache.ts';

let home = '';

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'kindling-cache-test-'));
  vi.stubEnv('XDG_CACHE_HOME', home);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true });
});

const write = (text: string) => (folder: string) => writeFile(join(folder, 'file'), text);
const never = () => Promise.reject(new Error('must not be built'));

describe('the build cache', () => {
  it('builds once for equal inputs and again for others', async () => {
    const first = await cached('kind', { a: 1 }, write('one'));
    expect(await cached('kind', { a: 1 }, never)).toBe(first);
    expect(first.startsWith(join(home, 'kindling/kind'))).toBe(true);
    const other = await cached('kind', { a: 2 }, write('two'));
    expect(await readFile(join(other, 'file'), 'utf8')).toBe('two');
    expect(await readFile(join(first, 'file'), 'utf8')).toBe('one');
  });

  it('keeps nothing of a build that failed', async () => {
    await expect(cached('kind', 1, () => Promise.reject(new Error('no disk space')))).rejects.toThrow(
      'no disk space',
    );
    expect(await readdir(join(home, 'kindling/kind'))).toEqual([]);
    await cached('kind', 1, write('ok'));
  });

  it('lets others wait while one builds', async () => {
    let builds = 0;
    const build = async (folder: string) => {
      builds++;
      await new Promise((resolve) => setImmediate(resolve));
      await write('x')(folder);
    };
    const folders = await Promise.all([1, 2, 3].map(() => cached('kind', 1, build)));
    expect(builds).toBe(1);
    expect(new Set(folders).size).toBe(1);
  });

  it('takes over from a builder that died', async () => {
    const gone = spawn('true');
    await once(gone, 'exit');
    const entry = await cached('kind', 1, write('x'));
    await rm(entry, { recursive: true });
    await writeFile(`${entry}.lock`, String(gone.pid));
    await cached('kind', 1, write('x'));
    expect(existsSync(`${entry}.lock`)).toBe(false);
  });

  it('removes entries that nobody has used for hours, but always keeps some', async () => {
    const kind = join(home, 'kindling/kind');
    const longAgo = new Date(Date.now() - 24 * 3_600_000);
    for (let index = 0; index < 12; index++) {
      await mkdir(join(kind, `old-${index}`), { recursive: true });
      await utimes(join(kind, `old-${index}`), longAgo, longAgo);
    }
    await mkdir(join(kind, 'recent'));
    await cached('kind', 1, write('new'));
    const left = await readdir(kind);
    expect(left.filter((name) => name.startsWith('old'))).toHaveLength(7);
    expect(left).toContain('recent');
  });
});
