import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CpioEntry, decodeCpio } from '../../../formats/cpio.ts';
import { cacheRoot } from '../../../initrd/build-cache.ts';
import { ensureMicroOs, explainMicroOs, type MicroOs, PROFILES } from '../../../initrd/index.ts';
import { TOOLS } from '../../../initrd/micro-os/contents.ts';
import { listsOf } from '../../../initrd/micro-os/root-files.ts';
import { readUkiSections } from '../../../initrd/micro-os/uki.ts';

let microOs: MicroOs;
let entries: Map<string, CpioEntry>;
const secondHome = await mkdtemp(join(tmpdir(), 'kindling-second-cache-'));

beforeAll(async () => {
  microOs = await ensureMicroOs('minimal');
  const archive = zstdDecompressSync(await readFile(microOs.initramfs));
  entries = new Map(decodeCpio(archive).map((entry) => [entry.path, entry]));
});

afterEach(() => {
  vi.unstubAllEnvs();
});

afterAll(() => rm(secondHome, { recursive: true, force: true }));

/** A cache of its own that shares nothing but the downloads: everything else is built again. */
async function withFreshCache<T>(work: () => Promise<T>): Promise<T> {
  const downloads = ['debian', 'apt-answers'];
  const shared = cacheRoot();
  await mkdir(join(secondHome, 'kindling'), { recursive: true });
  for (const kind of downloads) await symlink(join(shared, kind), join(secondHome, 'kindling', kind));
  vi.stubEnv('XDG_CACHE_HOME', secondHome);
  return work();
}

describe('the Micro-OS', () => {
  it('is byte for byte the same when it is built again from nothing, the agent included', {
    timeout: 300_000,
  }, async () => {
    const again = await withFreshCache(() => ensureMicroOs('minimal'));
    expect(again.folder).not.toBe(microOs.folder);
    expect(await readFile(join(again.folder, 'SHA256SUMS'), 'utf8')).toBe(
      await readFile(join(microOs.folder, 'SHA256SUMS'), 'utf8'),
    );
  });

  it('has every library its programs ask for, and a driver with all it depends on', () => {
    expect(entries.get('lib64/ld-linux-x86-64.so.2')?.type).toBe('file');
    expect([...entries.keys()]).toEqual(
      expect.arrayContaining(['init', 'bin/kindling-agent', 'sbin/mke2fs', 'bin/sh']),
    );
    const modulesDep = [...entries.values()].find(({ path }) => path.endsWith('/modules.dep'));
    const folder = modulesDep?.path.slice(0, -'modules.dep'.length) ?? '';
    const text = modulesDep?.type === 'file' ? modulesDep.contents.toString() : '';
    for (const path of text.split(/[\s:]+/).filter((word) => word.endsWith('.ko')))
      expect(entries.has(folder + path), path).toBe(true);
    expect(text).toMatch(/ext4\.ko:.*jbd2\.ko/);
  });

  it('leaves real folders where a drop-in archive may put files: a link there would be replaced by the kernel', () => {
    for (const path of ['bin', 'etc', 'lib', 'lib64', 'sbin'])
      expect(entries.get(path)?.type, path).toBe('directory');
  });

  it('is small enough unpacked to fit the half of 384 MB that the kernel gives its root', () => {
    const unpacked = [...entries.values()].reduce(
      (sum, entry) => sum + (entry.type === 'file' ? entry.contents.length : 0),
      0,
    );
    expect(unpacked / 1e6).toBeLessThan(125);
  });

  it('is also there as one EFI program with the same kernel and initramfs inside', async () => {
    const sections = new Map(
      readUkiSections(await readFile(microOs.uki)).map(({ name, contents }) => [name, contents]),
    );
    expect(sections.get('.linux')?.equals(await readFile(microOs.kernel))).toBe(true);
    expect(sections.get('.initrd')?.equals(await readFile(microOs.initramfs))).toBe(true);
    expect(sections.get('.cmdline')?.toString()).toContain('console=tty0');
  });
});

describe('--explain', () => {
  it('lists every file with the package it comes from, the largest first', async () => {
    const table = await explainMicroOs(microOs.folder);
    const [, first = ''] = table.split('\n');
    expect(first).toMatch(/kB +\d+\.\d % .* kindling +\/bin\/kindling-agent$/);
    expect(table).toMatch(/ e2fsprogs +\/sbin\/mke2fs$/m);
    expect(table).toMatch(/ linux-image-\S+ +\/lib\/modules\/.*ext4\.ko$/m);
  });
});

describe.each(PROFILES)('the tools of the profile %s', (profile) => {
  it('all start with nothing but the Micro-OS around them', { timeout: 300_000 }, async () => {
    const { initramfs } = await ensureMicroOs(profile);
    const root = await mkdtemp(join(tmpdir(), 'kindling-root-'));
    try {
      const input = zstdDecompressSync(await readFile(initramfs));
      await execa('cpio', ['-i', '-d', '--quiet'], { cwd: root, input });
      const tools = listsOf(TOOLS, profile).flatMap(({ files }) => files);
      for (const tool of tools.filter((path) => /bin\/(?!busybox)/.test(path))) {
        const { stderr, exitCode } = await execa('chroot', [root, `/${tool}`, '--version'], {
          reject: false,
          timeout: 20_000,
        });
        expect(`${tool}: ${stderr}`).not.toMatch(/shared librar/);
        expect(exitCode, tool).not.toBe(127);
      }
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});
