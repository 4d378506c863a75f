import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadArchive } from '../../actions/archive2disk/archive2disk.ts';
import { mountFilesystem } from '../../actions/mounts/mount.ts';
import { runInChild } from '../../actions/process/run-in-child.ts';
import { startChild } from '../../actions/process/start-child.ts';
import { Resources } from '../../actions/resources/resources.ts';
import { installKernel } from '../../actions/ubuntu/kernel.ts';
import { machine } from '../../agent/machine.ts';
import { run } from '../../system/run.ts';
import { startConnectProxy } from '../wire/reference/connect-proxy.ts';
import { disk as diskFixture } from './disks/disk-fixture.ts';
import { ext4Disk, type LoopDisk, loopDisk, withMounted } from './loop-disk.ts';
import { makeCertificate } from './registry/test-certificate.ts';
import { tarOf, testRegistry } from './registry/test-registry.ts';

let folder: string;
let disk: LoopDisk;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-tink-'));
  disk = await ext4Disk();
});
afterAll(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function serve(answer: (request: Buffer) => { status?: number; body?: Buffer; isCut?: boolean }) {
  const server = createServer(async (request, response) => {
    const { status = 200, body = Buffer.alloc(0), isCut = false } = answer(await buffer(request));
    response.writeHead(status, { 'content-length': body.length });
    if (isCut) response.write(body.subarray(0, body.length / 2), () => request.socket.destroy());
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/x`,
    [Symbol.dispose]: () => void server.close(),
  };
}

const act = (action: string, variables: Record<string, string>, args: string[] = []) =>
  startChild(action, variables, { args, stateDirectory: path.join(folder, 'state') });

describe('archive2disk', () => {
  it('unpacks a checked archive with what it carries, and leaves nothing else', async () => {
    const tar = await tarOf({
      'etc/': { type: 'directory', mode: 0o750 },
      'etc/a': { content: 'hello', mode: 0o4711 },
      l: { type: 'symlink', linkname: 'etc/a' },
    });
    using server = await serve(() => ({ body: gzipSync(tar) }));
    const checksum = createHash('sha512').update(tar).digest('hex');
    const outcome = await act('archive2disk', {
      ARCHIVE_URL: server.url,
      ARCHIVE_TYPE: 'targz',
      DEST_DISK: disk.device,
      DEST_PATH: '/sub',
      TARFILE_CHECKSUM: `sha512:${checksum}`,
    });
    expect(outcome).toMatchObject({ status: 'success', data: { entries: 3 } });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'sub/l'), 'utf8')).toBe('hello');
      expect((await lstat(path.join(root, 'sub/etc/a'))).mode & 0o7777).toBe(0o4711);
      expect(await readdir(root)).not.toContain('.kindling-archive');
    });
  });

  it('with a wrong checksum, or a download that was cut off, changes nothing', async () => {
    const tar = await tarOf({ intruder: 'x'.repeat(100_000) });
    const wrong = { DEST_DISK: disk.device, TARFILE_CHECKSUM: `sha256:${'0'.repeat(64)}` };
    using good = await serve(() => ({ body: tar }));
    using cut = await serve(() => ({ body: tar, isCut: true }));
    expect(await act('archive2disk', { ...wrong, ARCHIVE_URL: good.url })).toMatchObject({
      status: 'failed',
      error: { code: 'KND_ARCHIVE_INVALID' },
    });
    expect(await act('archive2disk', { ...wrong, ARCHIVE_URL: cut.url })).toMatchObject({
      status: 'failed',
      error: { code: 'KND_DOWNLOAD', message: expect.stringContaining('broke off'), retryable: true },
    });
    expect(await act('archive2disk', { DEST_DISK: disk.device, ARCHIVE_URL: good.url })).toMatchObject({
      error: { code: 'KND_ACTION_VARIABLES' },
    });
    await withMounted(disk.device, async (root) => {
      expect(await readdir(root)).not.toContain('intruder');
      expect(await readdir(root)).not.toContain('.kindling-archive');
    });
  });
});

describe('archive2disk, further', () => {
  it('gives a server no more time than HTTP_CLIENT_TIMEOUT_MINUTES, however busy it keeps us', async () => {
    const dripping = createServer((_, response) => {
      const drip = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(drip));
    });
    await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
    const url = new URL(`http://127.0.0.1:${(dripping.address() as { port: number }).port}/x.tar`);
    const context = { signal: new AbortController().signal, emit: () => {} };
    const late = downloadArchive(url, path.join(folder, 'late'), context, { timeoutMs: 600 });
    await expect(late).rejects.toMatchObject({
      code: 'KND_DOWNLOAD',
      message: expect.stringMatching(/longer than 0\.01 min \(HTTP_CLIENT_TIMEOUT_MINUTES\)/),
    });
    dripping.closeAllConnections();
    dripping.close();
  });

  const perform = (variables: Record<string, string>) =>
    runInChild({
      action: 'archive2disk',
      variables: { DEST_DISK: disk.device, ...variables },
      machine,
      signal: new AbortController().signal,
      emit: () => {},
      isDryRun: true,
    });
  const insecure = { INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION: '1' };

  it('a dry run shows neither the login nor the key in an address', async () => {
    const { summary } = await perform({ ...insecure, ARCHIVE_URL: 'http://me:hunter2@h/x.tar?sig=hunter3' });
    expect(summary).toBe(`would unpack http://h/x.tar?… into / on ${disk.device}`);
  });

  it.each([
    { ARCHIVE_URL: 'ftp://h/x' },
    { ARCHIVE_TYPE: 'zip' },
    { DEST_PATH: 'relative' },
    { DEST_DISK: 'sda1' },
    { TARFILE_CHECKSUM: 'sha256:abc' },
    { TARFILE_CHECKSUM: `sha512:${'0'.repeat(64)}` },
    { TARFILE_CHECKSUM: `md5:${'0'.repeat(32)}` },
    { INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION: 'yes' },
    { HTTP_CLIENT_TIMEOUT_MINUTES: '0' },
  ])('%j is refused before anything is fetched', async (wrong) => {
    await expect(perform({ ...insecure, ARCHIVE_URL: 'http://h/x', ...wrong })).rejects.toMatchObject({
      code: 'KND_ACTION_VARIABLES',
    });
  });

  it('over TLS believes TLS_CA_CERT and no other', async () => {
    const { key, cert } = await makeCertificate('127.0.0.1');
    const tar = await tarOf({ 'by-tls': 'x' });
    const server = createTlsServer({ key, cert }, (_, response) => response.end(tar));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ARCHIVE_URL = `https://127.0.0.1:${(server.address() as { port: number }).port}/x`;
    const variables = { ...insecure, ARCHIVE_URL, DEST_DISK: disk.device };
    expect(await act('archive2disk', variables)).toMatchObject({ status: 'failed' });
    for (const TLS_CA_CERT of [cert, Buffer.from(cert).toString('base64')]) {
      expect(await act('archive2disk', { ...variables, TLS_CA_CERT })).toMatchObject({ status: 'success' });
    }
    server.close();
  });
});

const stopped = (action: string, variables: Record<string, string>) =>
  startChild(action, variables, {
    stateDirectory: path.join(folder, 'state'),
    timeoutMs: 4_000,
    graceMs: 0, // no time to clean up: what it left is found in its ledger
  });

describe('killed in the middle', () => {
  const isMounted = async (device: string) => (await readFile('/proc/mounts', 'utf8')).includes(`${device} `);

  it('archive2disk leaves nothing mounted and nothing unpacked, and a second run succeeds', async () => {
    const tar = await tarOf({ 'killed/file': 'x'.repeat(1 << 20) });
    const stalled = createServer((_, response) => {
      response.writeHead(200, { 'content-length': tar.length });
      response.write(tar.subarray(0, tar.length / 2)); // and nothing more
    });
    await new Promise<void>((resolve) => stalled.listen(0, '127.0.0.1', resolve));
    const { port } = stalled.address() as { port: number };
    const variables = {
      DEST_DISK: disk.device,
      TARFILE_CHECKSUM: `sha256:${createHash('sha256').update(tar).digest('hex')}`,
    };
    const first = await stopped('archive2disk', { ...variables, ARCHIVE_URL: `http://127.0.0.1:${port}/x` });
    stalled.closeAllConnections();
    stalled.close();
    expect(first).toMatchObject({ status: 'timeout' });
    expect(await isMounted(disk.device)).toBe(false);
    await withMounted(disk.device, async (root) => {
      expect(await readdir(root)).not.toContain('.kindling-archive');
    });
    using server = await serve(() => ({ body: tar }));
    expect(await act('archive2disk', { ...variables, ARCHIVE_URL: server.url })).toMatchObject({
      status: 'success',
    });
    await withMounted(disk.device, async (root) => {
      expect(await readdir(root)).toContain('killed');
      expect(await readdir(root)).not.toContain('.kindling-archive');
    });
  });

  it('archive2disk, killed while it unpacks, leaves nothing mounted, and a second run makes everything whole', async () => {
    await using target = await ext4Disk(64 << 20);
    const names = Array.from({ length: 3000 }, (_, index) => `many/${index}`);
    const tar = await tarOf(Object.fromEntries(names.map((name) => [name, `content of ${name}`])));
    using server = await serve(() => ({ body: tar }));
    const variables = {
      DEST_DISK: target.device,
      ARCHIVE_URL: server.url,
      TARFILE_CHECKSUM: `sha256:${createHash('sha256').update(tar).digest('hex')}`,
    };
    // Mounted here too, so that the moment can be seen.
    await withMounted(target.device, async (root) => {
      const running = act('archive2disk', variables);
      const placed = () => readdir(path.join(root, 'many')).catch(() => []);
      await expect
        .poll(async () => (await placed()).length, { timeout: 30_000, interval: 1 })
        .toBeGreaterThan(9);
      const { stdout: pid } = await execa('pgrep', ['-P', String(process.pid), '-f', 'action archive2disk']);
      process.kill(Number(pid), 'SIGKILL');
      expect(await running).toMatchObject({ status: 'failed', error: { code: 'KND_ACTION_DIED' } });
      expect((await placed()).length).toBeLessThan(names.length);
      // A file that was there when the kill came may be empty or half: the second run must not keep it.
      await writeFile(path.join(root, 'many/0'), 'half');
    });
    expect(await isMounted(target.device)).toBe(false);
    expect(await act('archive2disk', variables)).toMatchObject({ status: 'success' });
    await withMounted(target.device, async (root) => {
      for (const name of names)
        expect(await readFile(path.join(root, name), 'utf8')).toBe(`content of ${name}`);
      expect(await readdir(root)).not.toContain('.kindling-archive');
    });
  });

  it('grub2disk ends what runs inside the system, unmounts it, and a second run succeeds', async () => {
    await using target = await ext4Disk();
    await withMounted(target.device, async (root) => {
      for (const directory of ['bin', 'dev', 'proc', 'sys', 'boot/grub'])
        await mkdir(path.join(root, directory), { recursive: true });
      execFileSync('cp', ['/bin/busybox', path.join(root, 'bin/busybox')]);
      for (const name of ['sh', 'sleep', 'rm']) await symlink('busybox', path.join(root, 'bin', name));
      await writeFile(
        path.join(root, 'bin/grub-install'),
        '#!/bin/sh\n[ -e /slow ] && rm /slow && sleep 4711\nexit 0\n',
      );
      await writeFile(path.join(root, 'bin/grub-mkconfig'), '#!/bin/sh\necho config > "$2"\n');
      for (const name of ['grub-install', 'grub-mkconfig']) await chmod(path.join(root, 'bin', name), 0o755);
      await writeFile(path.join(root, 'slow'), '');
    });
    const variables = { GRUB_INSTALL_PATH: target.device, GRUB_DISK: target.device, FS_TYPE: 'ext4' };
    expect(await stopped('grub2disk', variables)).toMatchObject({ status: 'timeout' });
    expect(await isMounted(target.device)).toBe(false);
    expect((await execa('pgrep', ['-f', '^sleep 4711'], { reject: false })).stdout).toBe('');
    expect(await act('grub2disk', variables)).toMatchObject({ status: 'success' });
  });
});

describe('kexec, killed while the kernel is loaded', () => {
  it('leaves neither a mount nor a copy of the kernel in memory, and a second run loads it', async () => {
    await using target = await ext4Disk();
    await withMounted(target.device, (root) => writeFile(path.join(root, 'vmlinuz'), 'kernel'));
    const inside = await mkdtemp(path.join(folder, 'kexec-'));
    const loaded = path.join(inside, 'loaded');
    // This host's kernel must not be replaced: a kexec that waits for ever the first time, and notes what it was given the second.
    const script = `#!/bin/sh\n[ -e ${inside}/once ] || { touch ${inside}/once; exec sleep 4949; }\necho "$@" > ${loaded}\n`;
    await mkdir(path.join(inside, 'bin'));
    await writeFile(path.join(inside, 'bin/kexec'), script, { mode: 0o755 });
    const processEnvironment = { PATH: `${inside}/bin:${process.env['PATH']}`, TMPDIR: inside };
    const variables = { BLOCK_DEVICE: target.device, KERNEL_PATH: '/vmlinuz', CMD_LINE: 'quiet' };
    const context = { stateDirectory: path.join(folder, 'state'), processEnvironment };
    const running = startChild('kexec', variables, { ...context });
    await expect.poll(() => readdir(inside), { timeout: 30_000 }).toContain('once');
    expect((await readdir(inside)).some((name) => name.startsWith('kindling-kexec-'))).toBe(true);
    const { stdout: pid } = await execa('pgrep', ['-P', String(process.pid), '-f', 'action kexec']);
    process.kill(Number(pid), 'SIGKILL');
    expect(await running).toMatchObject({ status: 'failed', error: { code: 'KND_ACTION_DIED' } });
    expect((await readdir(inside)).sort()).toEqual(['bin', 'once']);
    expect(await readFile('/proc/mounts', 'utf8')).not.toContain(`${target.device} `);

    expect(await startChild('kexec', variables, context)).toMatchObject({
      status: 'success',
      handOver: { kind: 'kexec' },
    });
    expect(await readFile(loaded, 'utf8')).toMatch(
      /^-a -l .*\/kernel --initrd=.*\/initrd --command-line=quiet\n$/,
    );
    expect((await readdir(inside)).sort()).toEqual(['bin', 'loaded', 'once']);
  });
});

describe('killed in the middle of a transfer', () => {
  it('oci2disk leaves nothing bootable, and a second run writes the whole image', async () => {
    await using loop = await loopDisk(16 << 20);
    const image = Buffer.concat([randomBytes(8 << 20), Buffer.alloc(1 << 20)]);
    using registry = await testRegistry({ layers: [gzipSync(image)], stallsOnce: true });
    const variables = { DEST_DISK: loop.device, IMG_URL: registry.image };
    expect(await stopped('oci2disk', variables)).toMatchObject({ status: 'timeout' });
    const half = await readFile(loop.file);
    expect(half.subarray(0, 1 << 20).every((byte) => byte === 0)).toBe(true);
    expect(await act('oci2disk', variables)).toMatchObject({ status: 'success' });
    expect((await readFile(loop.file)).subarray(0, image.length).equals(image)).toBe(true);
  });

  it('slurp stops uploading, and a second run sends everything', async () => {
    let isDeaf = true;
    let received = 0;
    const server = createServer((request, response) => {
      if (isDeaf) return void request.pause();
      request.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      request.on('end', () => response.writeHead(201).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const DEST_URL = `http://127.0.0.1:${(server.address() as { port: number }).port}/x`;
    const variables = { SOURCE_DISK: disk.device, DEST_URL, IMG_NAME: 'node' };
    expect(await stopped('slurp', variables)).toMatchObject({ status: 'timeout' });
    isDeaf = false;
    expect(await act('slurp', variables)).toMatchObject({ status: 'success' });
    expect(received).toBeGreaterThan(16 << 20);
    server.closeAllConnections();
    server.close();
  });
});

describe('slurp', () => {
  it.each(['false', 'true'])('uploads the whole device (compressed: %s)', async (COMPRESSED) => {
    let received: Buffer = Buffer.alloc(0);
    using server = await serve((body) => {
      received = body;
      return { status: 201 };
    });
    expect(
      await act('slurp', { SOURCE_DISK: disk.device, DEST_URL: server.url, IMG_NAME: 'node', COMPRESSED }),
    ).toMatchObject({ status: 'success' });
    expect(received.subarray(0, 300).toString('latin1')).toContain(
      `name="BootyImage"; filename="node.img${COMPRESSED === 'true' ? '.gz' : ''}"`,
    );
    const start = received.indexOf('\r\n\r\n') + 4;
    const content = received.subarray(start, received.lastIndexOf('\r\n--kindling'));
    const image = COMPRESSED === 'true' ? gunzipSync(content) : content;
    expect(image.equals(await readFile(disk.file))).toBe(true);
  });

  it('a disk without a medium, or one that is pulled out, is no image', async () => {
    const loop = await loopDisk(64 << 20);
    let isPulled = false;
    const server = createServer((request, response) => {
      request.on('data', () => {
        if (!isPulled) execFileSync('truncate', ['-s', '0', loop.file]);
        if (!isPulled) execFileSync('losetup', ['-c', loop.device]);
        isPulled = true;
      });
      request.on('end', () => response.writeHead(201).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const DEST_URL = `http://127.0.0.1:${(server.address() as { port: number }).port}/x`;
    const variables = { SOURCE_DISK: loop.device, DEST_URL, IMG_NAME: 'node' };
    expect(await act('slurp', variables)).toMatchObject({ status: 'failed', error: { code: 'KND_DISK_IO' } });
    expect(await act('slurp', variables)).toMatchObject({ error: { code: 'KND_DISK_NOT_FOUND' } });
    server.closeAllConnections();
    server.close();
    await loop[Symbol.asyncDispose]();
  });

  it.each([
    [{ SOURCE_DISK: '/dev/nothing' }, 'KND_DISK_NOT_FOUND'],
    [{ SOURCE_DISK: 'sda' }, 'KND_ACTION_VARIABLES'],
    [{ DEST_URL: 'ftp://h/' }, 'KND_ACTION_VARIABLES'],
    [{ IMG_NAME: '../x' }, 'KND_ACTION_VARIABLES'],
    [{ IMG_NAME: '' }, 'KND_ACTION_VARIABLES'],
    [{ COMPRESSED: 'gz' }, 'KND_ACTION_VARIABLES'],
  ])('%j is refused with %s', async (wrong, code) => {
    const good = { SOURCE_DISK: disk.device, DEST_URL: 'http://127.0.0.1:1/', IMG_NAME: 'x' };
    expect(await act('slurp', { ...good, ...wrong })).toMatchObject({ status: 'failed', error: { code } });
  });

  it('takes a link that udev would make, where no udev runs', async () => {
    const disks = await machine.listDisks();
    const listDisks = async () =>
      disks.map((each) => (each.path === disk.device ? { ...each, links: ['by-id/test-disk'] } : each));
    const request = {
      machine: { ...machine, listDisks },
      signal: new AbortController().signal,
      emit: () => {},
    };
    const variables = { DEST_URL: 'http://h/', IMG_NAME: 'x', SOURCE_DISK: '/dev/disk/by-id/test-disk' };
    const action = runInChild({ ...request, action: 'slurp', variables, isDryRun: true });
    await expect(action).resolves.toMatchObject({ summary: expect.stringContaining('as x.img') });
  });

  it('fails when the server does not take it', async () => {
    using server = await serve(() => ({ status: 507, body: Buffer.from('full') }));
    const outcome = await act('slurp', { SOURCE_DISK: disk.device, DEST_URL: server.url, IMG_NAME: 'node' });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'KND_UPLOAD_FAILED', message: expect.stringContaining('507') },
    });
  });
});

describe('grub2disk', () => {
  it('runs the installed system’s grub-install and grub-mkconfig, and fails when they fail', async () => {
    await withMounted(disk.device, async (root) => {
      for (const directory of ['bin', 'dev', 'proc', 'sys', 'boot/grub'])
        await mkdir(path.join(root, directory), { recursive: true });
      execFileSync('cp', ['/bin/busybox', path.join(root, 'bin/busybox')]);
      await symlink('busybox', path.join(root, 'bin/sh'));
      await writeFile(
        path.join(root, 'bin/grub-install'),
        '#!/bin/sh\necho "installed on $1" > /boot/grub/log\n',
      );
      await writeFile(
        path.join(root, 'bin/grub-mkconfig'),
        '#!/bin/sh\necho config > "$2"; [ ! -e /fail ]\n',
      );
      for (const name of ['grub-install', 'grub-mkconfig']) await chmod(path.join(root, 'bin', name), 0o755);
    });
    const variables = { GRUB_INSTALL_PATH: disk.device, GRUB_DISK: disk.device, FS_TYPE: 'ext4' };
    expect(await act('grub2disk', variables)).toMatchObject({ status: 'success' });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'boot/grub/log'), 'utf8')).toBe(`installed on ${disk.device}\n`);
      expect(await readFile(path.join(root, 'boot/grub/grub.cfg'), 'utf8')).toBe('config\n');
      await writeFile(path.join(root, 'fail'), '');
    });
    expect(await act('grub2disk', variables)).toMatchObject({
      status: 'failed',
      error: { code: 'KND_COMMAND_FAILED' },
    });
  });

  it.each([
    [{ GRUB_DISK: '/dev/sdx' }, 'KND_DISK_NOT_FOUND'],
    [{ GRUB_DISK: 'sda' }, 'KND_ACTION_VARIABLES'],
    [{ GRUB_INSTALL_PATH: '/dev/nothing' }, 'KND_DISK_NOT_FOUND'],
    [{ FS_TYPE: 'frobfs' }, 'KND_MOUNT_FAILED'],
  ])('%j is refused with %s', async (wrong, code) => {
    const good = { GRUB_INSTALL_PATH: disk.device, GRUB_DISK: disk.device };
    expect(await act('grub2disk', { ...good, ...wrong })).toMatchObject({
      status: 'failed',
      error: { code },
    });
  });

  it('does not touch the boot sector of what the Micro-OS was started from', async () => {
    const disks = await machine.listDisks();
    const listDisks = async () => disks.map((each) => ({ ...each, isBootMedium: true }));
    const request = {
      signal: new AbortController().signal,
      emit: () => {},
      machine: { ...machine, listDisks },
    };
    const variables = { GRUB_INSTALL_PATH: disk.device, GRUB_DISK: disk.device };
    await expect(runInChild({ ...request, action: 'grub2disk', variables })).rejects.toMatchObject({
      code: 'KND_DISK_REFUSED',
    });
  });
});

describe('oci2disk', () => {
  const image = Buffer.concat([randomBytes(3 << 20), Buffer.alloc(1 << 20)]);

  it('writes the layer of an artifact onto a disk, by its digest, and again', async () => {
    await using loop = await loopDisk(16 << 20);
    using registry = await testRegistry({ layers: [gzipSync(image)], password: 'p' });
    const variables = { DEST_DISK: loop.device, REGISTRY_USERNAME: 'user', REGISTRY_PASSWORD: 'p' };
    for (const _ of [1, 2]) {
      expect(await act('oci2disk', { ...variables, IMG_URL: registry.image })).toMatchObject({
        status: 'success',
      });
    }
    expect((await readFile(loop.file)).subarray(0, image.length).equals(image)).toBe(true);
  });

  it.each([
    [{ IMG_URL: 'not an image' }, 'KND_IMAGE_REFERENCE'],
    [{ IMG_URL: '' }, 'KND_ACTION_VARIABLES'],
    [{ IMG_URL: 'localhost:1/x/y:1' }, 'KND_REGISTRY'],
    [{ IMG_URL: 'localhost:1/x/y:1', SKIP_VERIFY: 'maybe' }, 'KND_ACTION_VARIABLES'],
  ])('%j is refused with %s', async (variables, code) => {
    await using loop = await loopDisk(16 << 20);
    const outcome = await act('oci2disk', { DEST_DISK: loop.device, ...variables });
    expect(outcome).toMatchObject({ status: 'failed', error: { code } });
    expect((await readFile(loop.file)).every((byte) => byte === 0)).toBe(true);
  });

  it('gives a registry that wants no token its user and password with every call, and shows them nowhere', async () => {
    await using loop = await loopDisk(16 << 20);
    using registry = await testRegistry({ layers: [gzipSync(image)], password: 'hunter2', isBasic: true });
    const events: unknown[] = [];
    const run = (REGISTRY_PASSWORD: string) =>
      startChild(
        'oci2disk',
        { DEST_DISK: loop.device, IMG_URL: registry.image, REGISTRY_USERNAME: 'user', REGISTRY_PASSWORD },
        { stateDirectory: path.join(folder, 'state'), onEvent: (event) => events.push(event) },
      );
    expect(await run('hunter3')).toMatchObject({ status: 'failed', error: { code: 'KND_REGISTRY' } });
    expect(await run('hunter2')).toMatchObject({ status: 'success' });
    expect(JSON.stringify(events)).not.toMatch(/hunter/);
  });

  it('with SKIP_VERIFY takes an unknown certificate, for the manifest and for the image', async () => {
    await using loop = await loopDisk(16 << 20);
    const { key, cert } = await makeCertificate('127.0.0.1');
    const tls = { key, cert, address: '127.0.0.1' };
    using registry = await testRegistry({ layers: [gzipSync(image)], tls });
    const variables = { DEST_DISK: loop.device, IMG_URL: `https://${registry.image}`, KINDLING_DISK: '' };
    const insecure = { INSECURE_REGISTRIES: '', KINDLING_REGISTRY_MIRRORS: `https://${registry.host}` };
    const run = (SKIP_VERIFY: string) =>
      startChild(
        'oci2disk',
        { ...variables, SKIP_VERIFY, RETRY_ENABLED: 'false' },
        { stateDirectory: path.join(folder, 'state'), processEnvironment: insecure },
      );
    expect(await run('false')).toMatchObject({ status: 'failed' });
    expect(await run('true')).toMatchObject({ status: 'success' });
  });

  it('asks the registry and fetches the image through HTTPS_PROXY', async () => {
    await using loop = await loopDisk(16 << 20);
    const { key, cert } = await makeCertificate('registry.test');
    using registry = await testRegistry({
      layers: [gzipSync(image)],
      tls: { key, cert, address: 'registry.test' },
    });
    const proxy = await startConnectProxy();
    const variables = { DEST_DISK: loop.device, IMG_URL: registry.image, TLS_CA_CERT: cert };
    expect(await act('oci2disk', { ...variables, HTTPS_PROXY: proxy.url })).toMatchObject({
      status: 'success',
    });
    expect((await readFile(loop.file)).subarray(0, image.length).equals(image)).toBe(true);
    expect(await act('oci2disk', { ...variables, HTTPS_PROXY: 'ftp://proxy' })).toMatchObject({
      status: 'failed',
      error: { code: 'KND_USAGE' },
    });
    await proxy.close();
  });

  it('a layer that is not what its digest says leaves nothing bootable', async () => {
    await using loop = await loopDisk(16 << 20);
    using registry = await testRegistry({ layers: [gzipSync(image)], spoilBlobs: true });
    expect(await act('oci2disk', { DEST_DISK: loop.device, IMG_URL: registry.image })).toMatchObject({
      status: 'failed',
    });
    expect((await readFile(loop.file)).subarray(0, 1 << 20).every((byte) => byte === 0)).toBe(true);
  });
});

describe('the kernel of kernelupgrd', () => {
  it('is installed by the system’s own package manager, and what fails there fails', async () => {
    await withMounted(disk.device, async (root) => {
      for (const directory of ['bin', 'dev', 'proc', 'sys', 'etc/default', 'run'])
        await mkdir(path.join(root, directory), { recursive: true });
      execFileSync('cp', ['/bin/busybox', path.join(root, 'bin/busybox')]);
      await symlink('busybox', path.join(root, 'bin/sh')).catch(() => {});
      await writeFile(
        path.join(root, 'bin/apt-get'),
        '#!/bin/sh\necho "apt-get $@" >> /log; [ ! -e /broken ]\n',
      );
      await writeFile(path.join(root, 'bin/update-grub'), '#!/bin/sh\necho update-grub >> /log\n');
      for (const name of ['apt-get', 'update-grub']) await chmod(path.join(root, 'bin', name), 0o755);
    });
    const install = async () => {
      await using resources = new Resources();
      const { signal } = new AbortController();
      const context = {
        machine,
        run: (program: string, args: readonly string[], options = {}) =>
          run(program, args, { signal, ...options }),
        signal,
        emit: () => {},
        log: () => {},
        resources,
        environment: {},
        args: [],
        isDryRun: false,
      };
      const mounted = await mountFilesystem(context, disk.device, { fsType: 'ext4' });
      await installKernel(context, mounted.target, diskFixture({ name: 'sda' }), '6.8.0-52-generic');
    };
    await install();
    await install(); // again: the same lines, nothing left mounted
    await withMounted(disk.device, async (root) => {
      const log = await readFile(path.join(root, 'log'), 'utf8');
      expect(log.split('\n').filter((line) => line.startsWith('apt-get install'))).toEqual(
        Array(2).fill(
          'apt-get install -y --no-install-recommends linux-image-6.8.0-52-generic linux-headers-6.8.0-52-generic linux-modules-extra-6.8.0-52-generic',
        ),
      );
      expect(await readFile(path.join(root, 'etc/default/grub.d/90-kindling.cfg'), 'utf8')).toContain(
        'with Linux 6.8.0-52-generic',
      );
      await writeFile(path.join(root, 'broken'), '');
    });
    await expect(install()).rejects.toMatchObject({ code: 'KND_COMMAND_FAILED' });
  });

  it.each([
    [{ KERNEL_VERSION: 'a b; rm -rf /' }, 'KND_ACTION_VARIABLES'],
    [{ LVM_SIZE: '-1' }, 'KND_ACTION_VARIABLES'],
    [{ SKIP_KERNEL_UPGRADE: 'perhaps' }, 'KND_ACTION_VARIABLES'],
    [{ ROOTFS_SIZE_GB: '0' }, 'KND_ACTION_VARIABLES'],
    [{ DEST_DISK: 'sda' }, 'KND_ACTION_VARIABLES'],
  ])('%j is refused with %s', async (variables, code) => {
    expect(await act('kernelupgrd', variables as Record<string, string>)).toMatchObject({ error: { code } });
  });
});

describe('kexec', () => {
  it('finds the kernel by grub.cfg, and says what is missing', async () => {
    await withMounted(disk.device, async (root) => {
      await mkdir(path.join(root, 'boot/grub'), { recursive: true });
      await writeFile(
        path.join(root, 'boot/grub/grub.cfg'),
        'menuentry x {\n linux /boot/vmlinuz root=/dev/x\n initrd /boot/initrd\n}\n',
      );
      await writeFile(path.join(root, 'boot/vmlinuz'), 'kernel');
      await writeFile(path.join(root, 'boot/initrd'), 'initramfs');
      await writeFile(path.join(root, 'boot/other.cfg'), 'linux /boot/vmlinuz other\n');
    });
    const request = { machine, signal: new AbortController().signal, emit: () => {}, isDryRun: true };
    const found = await runInChild({
      ...request,
      action: 'kexec',
      variables: { BLOCK_DEVICE: disk.device },
    });
    expect(found.summary).toBe('would start /boot/vmlinuz with /boot/initrd and "root=/dev/x"');
    const kexec = (variables: Record<string, string>) =>
      runInChild({ ...request, action: 'kexec', variables: { BLOCK_DEVICE: disk.device, ...variables } });
    for (const [variables, summary] of [
      [{ KERNEL_PATH: 'boot/vmlinuz' }, 'boot/vmlinuz with no initramfs and "root=/dev/x"'],
      [{ CMD_LINE: 'quiet', FS_TYPE: 'ext4' }, '/boot/vmlinuz with /boot/initrd and "quiet"'],
      [
        { KERNEL_PATH: '/boot/vmlinuz', INITRD_PATH: '/boot/initrd, /boot/vmlinuz' },
        '/boot/vmlinuz with /boot/initrd, /boot/vmlinuz and "root=/dev/x"',
      ],
      [{ GRUBCFG_PATH: '/boot/other.cfg' }, '/boot/vmlinuz with no initramfs and "other"'],
    ] as const) {
      expect((await kexec(variables)).summary).toBe(`would start ${summary}`);
    }
    for (const [variables, code] of [
      [{ KERNEL_PATH: '/none' }, 'KND_KERNEL_NONE'],
      [{ KERNEL_PATH: '/boot' }, 'KND_KERNEL_NONE'],
      [{ INITRD_PATH: '/boot/initrd,/none' }, 'KND_KERNEL_NONE'],
      [{ GRUBCFG_PATH: 'none.cfg' }, 'KND_KERNEL_NONE'],
      [{ BLOCK_DEVICE: '/dev/nothing' }, 'KND_DISK_NOT_FOUND'],
      [{ FS_TYPE: 'frobfs' }, 'KND_MOUNT_FAILED'],
    ] as const) {
      await expect(kexec(variables)).rejects.toMatchObject({ code });
    }
  });
});
