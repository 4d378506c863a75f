import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readElf, SEGMENT } from '../../formats/elf.ts';
import { ensureKindling } from '../../release/kindling-executable.ts';
import { makeEmptyRoot, startInRoot } from '../initrd/executable/empty-root.ts';

const MAX_COMPRESSED = 45_000_000;
let folder = '';
let root = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-release-test-'));
  root = await makeEmptyRoot(folder, await ensureKindling());
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('kindling as one static file, in a root with nothing else', () => {
  it('asks for no library, and is small enough to carry', async () => {
    const file = await readFile(join(root, 'program'));
    const elf = readElf(file, 'kindling');
    expect(elf.segments.some(({ type }) => type === SEGMENT.INTERPRETER)).toBe(false);
    expect(zstdCompressSync(file).length).toBeLessThan(MAX_COMPRESSED);
  });

  it('tells version, commit and Node', async () => {
    const { stdout } = await startInRoot(root, ['version']);
    expect(stdout).toMatch(/^kindling \d+\.\d+\.\d+ \([0-9a-f]{9}\)\nNode 26\.\d+\.\d+, in one static file$/);
  });

  it('serves its page, its templates and its API, and ends when it is told to', async () => {
    const server = startInRoot(root, [
      'serve',
      '--state',
      '/state',
      '--host',
      '127.0.0.1',
      '--plain',
      '--plain-port',
      '0',
    ]);
    server.catch(() => {});
    const url = await new Promise<string>((resolve, reject) => {
      let printed = '';
      server.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        const found = /kindling serves (\S+) after/.exec(printed)?.[1];
        if (found) resolve(found);
      });
      server.then(({ stderr }) => reject(new Error(`it ended: ${stderr}`)));
    });
    try {
      const page = await fetch(`${url}/`);
      expect(await page.text()).toContain('<title>Kindling</title>');
      const templates = await (await fetch(`${url}/api/v1/templates`)).text();
      expect(templates).toContain('microvisor');
    } finally {
      server.kill('SIGTERM');
    }
    expect((await server).exitCode).toBe(0);
  });

  it('makes an image with its worker threads', async () => {
    await writeFile(join(root, 'disk.raw'), Buffer.alloc(8 << 20, 'kindling'));
    const { stderr, exitCode } = await startInRoot(root, ['image', 'index', '/disk.raw']);
    expect({ stderr, exitCode }).toMatchObject({ exitCode: 0 });
    expect((await stat(join(root, 'disk.raw.zst'))).size).toBeGreaterThan(0);
  });

  it.each([
    ['the agent', ['build', 'agent']],
    ['the Micro-OS', ['build', 'microos']],
  ])('says by name what it would take to build %s', async (what, args) => {
    const { stderr, exitCode } = await startInRoot(root, args);
    expect(stderr).toContain(`KND_BUILD_SOURCES: ${what} is built in Kindling’s repository, with gcc`);
    expect(exitCode).toBe(3);
  });
});
