import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchTo as fetchSilently } from '../../../actions/fetchfile/fetchfile.ts';
import { type StartChildOptions, startChild } from '../../../actions/process/start-child.ts';
import { ext4Disk, type LoopDisk, withMounted } from '../loop-disk.ts';

const CONTENTS = Buffer.alloc(3_000_000, 'program');
const SHA256 = createHash('sha256').update(CONTENTS).digest('hex');
let folder: string;
let disk: LoopDisk;
let server: Server;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-fetchfile-'));
  disk = await ext4Disk();
  server = createServer((request, response) => {
    if (request.url === '/k3s') response.end(CONTENTS);
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': CONTENTS.length });
      response.write(CONTENTS.subarray(0, 1000), () => response.destroy());
    } else if (request.url === '/stalled') {
      response.writeHead(200, { 'content-length': CONTENTS.length });
      response.write(CONTENTS.subarray(0, 1000)); // and nothing more
    } else if (request.url === '/mute') {
      // never an answer
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function fetchTo(name: string, variables: Record<string, string> = {}, context: StartChildOptions = {}) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`;
  const all = { URL: url, SHA256, DEST_DISK: disk.device, DEST_PATH: '/opt/bin/k3s', ...variables };
  return startChild('fetchfile', all, { stateDirectory: path.join(folder, 'state'), ...context });
}

test('a file arrives whole, with its mode, in directories that are made', async () => {
  expect(await fetchTo('k3s', { MODE: '0755' })).toMatchObject({
    status: 'success',
    data: { bytes: CONTENTS.length },
  });
  await withMounted(disk.device, async (root) => {
    expect((await readFile(path.join(root, 'opt/bin/k3s'))).equals(CONTENTS)).toBe(true);
    expect((await lstat(path.join(root, 'opt/bin/k3s'))).mode & 0o777).toBe(0o755);
  });
});

test.each([
  [{ FS_TYPE: 'frobfs' }, 'KND_MOUNT_FAILED'],
  [{ MODE: '999' }, 'KND_ACTION_VARIABLES'],
  [{ SHA256: 'short' }, 'KND_ACTION_VARIABLES'],
  [{ DEST_PATH: '/lost+found' }, 'KND_PATH_INVALID'],
])('%j fails with %s', async (wrong, code) => {
  expect(await fetchTo('k3s', { FS_TYPE: 'ext4', ...wrong })).toMatchObject({
    status: 'failed',
    error: { code },
  });
});

test('neither a dry run nor an error shows the login or the key in an address', async () => {
  const { port } = server.address() as AddressInfo;
  const secret = { URL: `http://me:hunter2@127.0.0.1:${port}/none?sig=hunter3` };
  const dry = await fetchTo('', secret, { isDryRun: true });
  expect(dry).toMatchObject({ status: 'success' });
  const failed = await fetchTo('', secret);
  expect(failed).toMatchObject({ error: { code: 'KND_FILE_FETCH' } });
  expect(JSON.stringify([dry, failed])).not.toMatch(/hunter/);
});

test('a wrong hash, a cut connection or a missing file leave nothing behind', async () => {
  const elsewhere = { DEST_PATH: '/other/file' };
  expect(await fetchTo('k3s', { ...elsewhere, SHA256: '0'.repeat(64) })).toMatchObject({
    error: { code: 'KND_FILE_HASH' },
  });
  expect(await fetchTo('cut', elsewhere)).toMatchObject({
    status: 'failed',
    error: { code: 'KND_FILE_FETCH' },
  });
  expect(await fetchTo('none', elsewhere)).toMatchObject({ error: { code: 'KND_FILE_FETCH' } });
  await withMounted(disk.device, async (root) => {
    expect(await readdir(path.join(root, 'other'))).toEqual([]);
  });
});

test('killed in the middle leaves the old file and nothing mounted, and a second run has the new one', async () => {
  const place = { DEST_PATH: '/killed/file', MODE: '0644' };
  await withMounted(disk.device, async (root) => {
    await mkdir(path.join(root, 'killed'));
    await writeFile(path.join(root, 'killed/file'), 'old');
  });
  const killed = await fetchTo('stalled', place, { timeoutMs: 3_000, graceMs: 0 });
  expect(killed).toMatchObject({ status: 'timeout' });
  expect(await readFile('/proc/mounts', 'utf8')).not.toContain(`${disk.device} `);
  await withMounted(disk.device, async (root) => {
    expect(await readFile(path.join(root, 'killed/file'), 'utf8')).toBe('old');
  });
  for (const _ of ['second run', 'again']) {
    expect(await fetchTo('k3s', place)).toMatchObject({ status: 'success' });
    await withMounted(disk.device, async (root) => {
      expect(await readdir(path.join(root, 'killed'))).toEqual(['file']);
      expect((await readFile(path.join(root, 'killed/file'))).equals(CONTENTS)).toBe(true);
    });
  }
});

test.each([[{ URL: 'nowhere' }], [{ SHA256: 'abc' }], [{ DEST_PATH: 'relative' }], [{ MODE: '9' }]])(
  '%j is refused before anything is fetched',
  async (variables) => {
    expect(await fetchTo('k3s', variables as Record<string, string>)).toMatchObject({
      error: { code: 'KND_ACTION_VARIABLES' },
    });
  },
);

test.each([
  ['mute', 'cannot be reached'],
  ['stalled', 'broke off after 1000 bytes'],
])('a server that goes silent (%s) is not waited for longer than that', async (name, text) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`;
  const { signal } = new AbortController();
  await expect(
    fetchSilently(path.join(folder, name), url, SHA256, { signal, silenceMs: 300 }),
  ).rejects.toMatchObject({
    code: 'KND_FILE_FETCH',
    message: expect.stringContaining(text),
    cause: { message: 'silent for 0.3 s' },
  });
});
