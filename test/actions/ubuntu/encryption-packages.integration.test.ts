import { createReadStream } from 'node:fs';
import { access, cp, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ActionContext } from '../../../actions/contract/action.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import { installEncryptionPackages } from '../../../actions/ubuntu/encryption-packages.ts';
import { actionEnvironment } from '../../../agent/workflow/action-environment.ts';
import { ensureEncryptableRoot } from '../../../lab/target-images/encryptable.ts';
import { ensurePackageRepository } from '../../../lab/target-images/package-repository.ts';
import { unpackRoot } from '../../../lab/target-images/unpacked-root.ts';
import { run } from '../../../system/run.ts';

const ASKED_FOR = ['cryptsetup-initramfs', 'libtss2-tcti-device0', 'tpm2-initramfs-tool'];
const WHAT_THEY_NEED = [
  'cryptsetup',
  'libtss2-esys-3.0.2-0',
  'libtss2-sys1',
  'libtss2-tcti-cmd0',
  'libtss2-tcti-mssim0',
  'libtss2-tcti-swtpm0',
];

let folder: string;
let root: string;
let repository: string;
let proxy: Server;
/** What was asked of the proxy; and whether it knows the way. */
let asked: string[] = [];
let isOnline = true;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-packages-'));
  repository = await ensurePackageRepository([...ASKED_FOR, ...WHAT_THEY_NEED]);
  root = await unpackRoot(folder, await ensureEncryptableRoot());
  await rm(path.join(root, 'etc/apt/sources.list.d'), { recursive: true });
  await writeFile(path.join(root, 'etc/apt/sources.list'), 'deb [trusted=yes] http://packages.invalid ./\n');
  await rm(path.join(root, 'etc/resolv.conf'), { force: true });
  await symlink('../run/systemd/resolve/stub-resolv.conf', path.join(root, 'etc/resolv.conf'));
  // It is made after each package; that it can be made is shown in encryption.qemu.test.ts.
  await writeFile(path.join(root, 'etc/initramfs-tools/update-initramfs.conf'), 'update_initramfs=no\n');
  proxy = createServer((request, response) => {
    asked.push(request.url ?? '');
    const file = path.join(
      repository,
      path.basename(decodeURIComponent(request.url ?? '').replaceAll(':', '%3a')),
    );
    if (!isOnline) response.writeHead(503).end();
    else
      createReadStream(file)
        .on('error', () => response.writeHead(404).end())
        .pipe(response);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const httpProxy = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`;
  for (const [name, value] of Object.entries(actionEnvironment({ httpProxy }))) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  proxy?.close();
  if (folder) await rm(folder, { recursive: true });
});

async function install(): Promise<void> {
  await using resources = new Resources();
  const context = { run, resources, signal: new AbortController().signal, emit: () => {}, log: () => {} };
  asked = [];
  await installEncryptionPackages(context as unknown as ActionContext, root, { isForSeal: false });
}

// the temporary folder of this root is not in that one
const dpkg = (...args: string[]) =>
  execa('chroot', [root, 'dpkg', ...args], { reject: false, env: { TMPDIR: undefined } });

/** Packages that are neither installed nor removed, as `dpkg --list` marks them. */
async function halfInstalled(): Promise<string[]> {
  return (await dpkg('--list')).stdout.split('\n').filter((line) => /^i[^i]/.test(line));
}

const programs = ['usr/lib/cryptsetup/askpass', 'usr/bin/tpm2-initramfs-tool'];
const presence = () =>
  Promise.all(
    programs.map((file) =>
      access(path.join(root, file)).then(
        () => true,
        () => false,
      ),
    ),
  );

describe('packages that open an encrypted system', () => {
  it('without a way to them fails before anything is encrypted, and leaves no trace', async () => {
    expect((await dpkg('--purge', ...ASKED_FOR, ...WHAT_THEY_NEED)).exitCode).toBe(0);
    expect(await presence()).toEqual([false, false]);
    isOnline = false;
    await expect(install()).rejects.toMatchObject({ code: 'KND_ENCRYPTION_PACKAGES' });
    isOnline = true;
    expect(await readlink(path.join(root, 'etc/resolv.conf'))).toContain('stub-resolv.conf');
    expect(await readFile('/proc/self/mounts', 'utf8')).not.toContain(root);
  });

  it('are installed with what they need by the system’s own package manager, through the site’s proxy', async () => {
    await install();
    expect(await presence()).toEqual([true, true]);
    expect(await halfInstalled()).toEqual([]);
    expect(
      asked.filter((url) => url.startsWith('http://packages.invalid/') && url.endsWith('.deb')),
    ).toHaveLength(9);
    expect(await readlink(path.join(root, 'etc/resolv.conf'))).toContain('stub-resolv.conf');
  });

  it('are not asked for when they are there', async () => {
    await install();
    expect(asked).toEqual([]);
  });

  it('a run after a kill finishes what is only half there', async () => {
    await dpkg('--purge', ...ASKED_FOR, ...WHAT_THEY_NEED);
    const record = path.join(root, 'var/lib/dpkg/status');
    const before = await readFile(record, 'utf8');
    await cp(repository, path.join(root, 'tmp/half'), { recursive: true });
    const files = (await readdir(repository)).filter((file) => ASKED_FOR.includes(file.split('_')[0] ?? ''));
    await dpkg('--unpack', '--force-depends', ...files.map((file) => `/tmp/half/${file}`));
    expect(await halfInstalled()).toHaveLength(3);
    // dpkg notes what it does in a file each and adds them to its record at its end, which a kill does not let it reach.
    const entries = (await readFile(record, 'utf8')).split('\n\n');
    const noted = entries.filter((entry) => ASKED_FOR.some((name) => entry.startsWith(`Package: ${name}\n`)));
    for (const [index, entry] of noted.entries())
      await writeFile(path.join(root, `var/lib/dpkg/updates/000${index}`), `${entry}\n`);
    await writeFile(record, before);

    await install();
    expect(await halfInstalled()).toEqual([]);
    expect(await presence()).toEqual([true, true]);
  });
});
