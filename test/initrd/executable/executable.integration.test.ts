import { copyFile, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readElf, SEGMENT } from '../../../formats/elf.ts';
import { ensureAgent } from '../../../initrd/executable/agent-executable.ts';
import { bundleProgram } from '../../../initrd/executable/bundle.ts';
import { ensureExecutable } from '../../../initrd/executable/executable.ts';
import { makeEmptyRoot, startInRoot } from './empty-root.ts';

let folder = '';
let probe = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-executable-test-'));
  const bundle = await bundleProgram({
    main: 'test/initrd/executable/probe-program.ts',
    workers: ['test/initrd/executable/probe.worker.ts'],
    files: ['system/first-boot/first-boot.sh'],
    stamp: { version: '0.0.0', commit: 'none', time: 0 },
  });
  probe = await ensureExecutable('probe', bundle);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the executable', () => {
  it('needs nothing but itself: static, and runs in an empty root as the first process', async () => {
    const elf = readElf(await readFile(probe), probe);
    expect(elf.segments.some(({ type }) => type === SEGMENT.INTERPRETER)).toBe(false);

    const { stdout, stderr } = await startInRoot(await makeEmptyRoot(folder, probe), [], {
      asFirstProcess: true,
    });
    expect(stderr).toBe('');
    const facts = JSON.parse(stdout.replace('PROBE ', '')) as Record<string, unknown>;
    expect(facts).toMatchObject({
      execPath: '/program',
      pid: 1,
      ffiPid: 1,
      files: ['proc', 'program'],
      fromWorker: { answer: 1024, zstdVersion: expect.any(Number), fromItsOwn: [{ answer: 2 }] },
      child: 'I am the child',
      zstd: 'zstd',
      sha256: 'e3b0c442',
      loopback: '127.0.0.1',
      date: 'January 1, 1970',
      otherLanguage: '1,234.5',
      sorted: 'aäbZ',
      normalized: 2,
      caseless: true,
      url: 'xn--bcher-kva.example',
      latin1: 'ä',
      utf16: 'ü',
      script: '#!/bin/sh',
    });
  });

  it('does not take options of Node from its environment', async () => {
    const { stdout } = await execa(probe, ['child'], { env: { NODE_OPTIONS: '--no-such-option' } });
    expect(stdout).toBe('I am the child');
  });

  it.each([
    ['cut off', async (file: string) => truncate(file, 50_000_000), 'the file is cut off'],
    [
      'changed in its table',
      (file: string) => flipByte(file, 'KINDLING-PAYLOAD', 40),
      'its table of contents is damaged',
    ],
    [
      'changed in a library',
      (file: string) => flipByte(file, 'GNU C Library', 0),
      'a library inside it is damaged',
    ],
  ])('says so when it was %s', async (_, damage, message) => {
    const damaged = join(folder, 'damaged');
    await copyFile(probe, damaged);
    await damage(damaged);
    const { stderr, exitCode } = await execa(damaged, ['child'], { reject: false });
    expect(stderr).toContain('KND_EXECUTABLE_BROKEN');
    expect(stderr).toContain(message);
    expect(exitCode).toBe(127);
  });

  it('says so when the launcher is started without its payload', async () => {
    const launcher = join(folder, 'launcher');
    const bytes = Buffer.from((await readFile(probe)).subarray(0, 65_536));
    const table = bytes.indexOf('KINDLING-PAYLOAD') + 16;
    bytes.fill(0, table, table + 16);
    await writeFile(launcher, bytes, { mode: 0o755 });
    const { stderr } = await execa(launcher, { reject: false });
    expect(stderr).toContain('it carries no payload');
  });
});

describe('kindling-agent', () => {
  it('tells version and commit, in an empty root', async () => {
    const { stdout } = await startInRoot(await makeEmptyRoot(folder, await ensureAgent()), ['--version']);
    expect(stdout).toMatch(/^kindling-agent \d+\.\d+\.\d+ \([0-9a-f]{9}\)$/);
  });

  it('is not built again while nothing it is made of has changed', async () => {
    const before = await stat(await ensureAgent());
    const after = await stat(await ensureAgent());
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  });
});

async function flipByte(file: string, near: string, distance: number): Promise<void> {
  const at = (await readFile(file)).indexOf(near) + distance;
  const handle = await open(file, 'r+');
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at);
  buffer[0] = (buffer[0] ?? 0) ^ 0xff;
  await handle.write(buffer, 0, 1, at);
  await handle.close();
}
