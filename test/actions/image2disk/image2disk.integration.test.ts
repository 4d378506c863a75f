import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type WriteImageResult, writeImage } from '../../../actions/image-writer/index.ts';
import { startChild } from '../../../actions/process/start-child.ts';
import { signManifest } from '../../../formats/image-manifest.ts';
import { indexImage } from '../../../images/index-image.ts';
import { imageSignatureText } from '../../../protocol/image-signature.ts';
import { waitFor } from '../../../system/wait.ts';
import { type ImageServer, startImageServer } from '../image-writer/image-server.ts';
import { encodeImage, makeDiskImage } from '../image-writer/test-image.ts';
import { type LoopDisk, loopDisk } from '../loop-disk.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(24 * MIB, 21);
const PLAIN = encodeImage(RAW, 'zst');
const site = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');
const pem = (key: typeof site.publicKey) => String(key.export({ type: 'spki', format: 'pem' }));
const digest = (algorithm: string, bytes: Buffer) => createHash(algorithm).update(bytes).digest('hex');

let folder: string;
let server: ImageServer;
let disk: LoopDisk;
let manifestRoot: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-image2disk-'));
  disk = await loopDisk(RAW.length);
  const raw = join(folder, 'disk.raw');
  await writeFile(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  const signed = signManifest(manifest, site.privateKey);
  manifestRoot = digest('sha256', Buffer.from(manifest));
  const signature = sign(null, Buffer.from(imageSignatureText(digest('sha256', PLAIN))), site.privateKey);
  const blob = { bytes: await readFile(`${raw}.zst`) };
  server = await startImageServer({
    '/chunked.zst': blob,
    '/chunked.zst.manifest': { bytes: Buffer.from(signed) },
    '/unsigned.zst': blob,
    '/unsigned.zst.manifest': { bytes: Buffer.from(manifest) },
    '/plain.zst': { bytes: PLAIN },
    '/plain.zst.sig': { bytes: Buffer.from(signature.toString('base64')) },
    '/elsewhere.sig': { bytes: Buffer.from(signature.toString('base64')) },
    '/nobody.zst': { bytes: PLAIN },
    '/endless.raw': {
      bytes: RAW,
      handle: (_, response) => {
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { connection: 'close' }).end(RAW);
        return true;
      },
    },
  });
});
afterAll(async () => {
  await server.close();
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Runs the action as a workflow does; the disk holds `before` first. */
async function write(path: string, variables: Record<string, string> = {}, before?: Buffer) {
  if (before) await writeFile(disk.device, before);
  const requestsBefore = server.requests.length;
  const logged: Record<string, unknown>[] = [];
  const outcome = await startChild(
    'image2disk',
    { IMG_URL: `${server.url}${path}`, DEST_DISK: disk.device, RETRY_DURATION_MINUTES: '0', ...variables },
    {
      stateDirectory: join(folder, 'state'),
      onEvent: (event) => {
        if (event.type === 'log') logged.push(event.fields ?? {});
      },
    },
  );
  execFileSync('blockdev', ['--flushbufs', disk.device]);
  const code = outcome.status === 'success' ? undefined : outcome.error?.code;
  return {
    outcome,
    code,
    logged,
    found: await readFile(disk.device),
    fetched: server.requests.slice(requestsBefore),
  };
}

const OLD = Buffer.alloc(RAW.length, 0xaa);
/** As EMF gives certificates: Base64 of PEM; here of two keys. */
const KEYS = Buffer.from(pem(stranger.publicKey) + pem(site.publicKey)).toString('base64');

describe('a signature that was asked for', () => {
  test('of a chunked image is the manifest’s', async () => {
    const { outcome, found } = await write('/chunked.zst', { KINDLING_IMAGE_KEYS: KEYS }, OLD);
    expect(outcome).toMatchObject({ status: 'success', data: { format: 'chunked' } });
    expect(found.equals(RAW)).toBe(true);
  });

  test('of a plain image lies beside it, or where the workflow says', async () => {
    const keys = { KINDLING_IMAGE_KEYS: pem(site.publicKey) };
    const beside = await write('/plain.zst', keys, OLD);
    expect(beside.outcome).toMatchObject({ status: 'success', data: { format: 'zst' } });
    expect(beside.found.equals(RAW)).toBe(true);
    const named = await write(
      '/nobody.zst',
      { ...keys, KINDLING_SIGNATURE: `${server.url}/elsewhere.sig` },
      OLD,
    );
    expect(named.found.equals(RAW)).toBe(true);
  });

  test.each([
    ['no signature beside a plain image', '/nobody.zst', () => pem(site.publicKey)],
    ['a stranger’s signature beside a plain image', '/plain.zst', () => pem(stranger.publicKey)],
    ['a manifest nobody signed', '/unsigned.zst', () => pem(site.publicKey)],
    ['a manifest a stranger signed', '/chunked.zst', () => pem(stranger.publicKey)],
  ])('and is not there (%s) leaves nothing bootable', async (_, path, key) => {
    const { code, found } = await write(path, { KINDLING_IMAGE_KEYS: key() }, OLD);
    expect(code).toBe('KND_IMAGE_SIGNATURE');
    const head = found.subarray(0, 4096);
    expect(head.every((byte) => byte === 0) || found.equals(OLD)).toBe(true);
  });

  test('invalid keys are refused before anything is touched', async () => {
    const { code, found } = await write('/chunked.zst', { KINDLING_IMAGE_KEYS: 'bm8ga2V5' }, OLD);
    expect(code).toBe('KND_ACTION_VARIABLES');
    expect(found.equals(OLD)).toBe(true);
  });
});

describe('checksums', () => {
  test('SHA-512, lengths and the raw image’s SHA-256 are checked', async () => {
    const { outcome, found } = await write(
      '/plain.zst',
      {
        KINDLING_SHA512: `sha512:${digest('sha512', PLAIN)}`,
        KINDLING_LENGTH: String(PLAIN.length),
        KINDLING_RAW_SHA256: digest('sha256', RAW),
        KINDLING_RAW_LENGTH: String(RAW.length),
      },
      OLD,
    );
    expect(outcome.status).toBe('success');
    expect(found.equals(RAW)).toBe(true);
  });

  test.each([
    ['KINDLING_SHA512', '0'.repeat(128), 'KND_IMAGE_HASH'],
    ['KINDLING_RAW_SHA256', '0'.repeat(64), 'KND_IMAGE_HASH'],
    ['KINDLING_LENGTH', '5', 'KND_IMAGE_LENGTH'],
    ['KINDLING_RAW_LENGTH', '5', 'KND_IMAGE_LENGTH'],
    ['KINDLING_MANIFEST_ROOT', '0'.repeat(64), 'KND_IMAGE_MANIFEST'],
    ['KINDLING_MANIFEST_VERSION', '2', 'KND_IMAGE_OLD'],
  ])('a wrong %s is %s: %s', async (name, value, code) => {
    const path = name.startsWith('KINDLING_MANIFEST_') ? '/chunked.zst' : '/plain.zst';
    expect((await write(path, { [name]: value })).code).toBe(code);
  });

  test('KINDLING_ALLOW_UNKNOWN_END takes an image whose end the server does not tell', async () => {
    const refused = await write('/endless.raw', {}, OLD);
    expect(refused.code).toBe('KND_IMAGE_END_UNKNOWN');
    expect(refused.found.equals(OLD)).toBe(true);
    const { outcome } = await write('/endless.raw', { KINDLING_ALLOW_UNKNOWN_END: 'true' }, OLD);
    expect(outcome.status).toBe('success');
  });

  test('a manifest with the root the workflow names needs no signature', async () => {
    const { outcome } = await write('/unsigned.zst', { KINDLING_MANIFEST_ROOT: manifestRoot }, OLD);
    expect(outcome).toMatchObject({ status: 'success', data: { format: 'chunked' } });
  });

  test('the log says which image was written, for the shipping record', async () => {
    const chunked = await write('/unsigned.zst', { KINDLING_MANIFEST_ROOT: manifestRoot }, OLD);
    expect(chunked.logged).toContainEqual({ writtenImage: { manifestRoot, bytes: RAW.length } });
  });
});

describe('a disk that holds most of the image already', () => {
  const damaged = () => {
    const bytes = Buffer.from(RAW);
    bytes.fill(0x5a, 7 * MIB + 8192, 7 * MIB + 12_288);
    return bytes;
  };

  test('KINDLING_MODE=delta fetches what differs', async () => {
    const { outcome, found } = await write('/chunked.zst', { KINDLING_MODE: 'delta' }, damaged());
    expect(found.equals(RAW)).toBe(true);
    expect(outcome).toMatchObject({ data: { chunks: { fromOrigin: 1 } } });
  });

  test('KINDLING_MODE=repair tells what differed; an intact disk is not touched', async () => {
    const repaired = await write('/chunked.zst', { KINDLING_MODE: 'repair' }, damaged());
    expect(repaired.found.equals(RAW)).toBe(true);
    expect(repaired.outcome).toMatchObject({ data: { chunks: { differed: [7] } } });
    const again = await write('/chunked.zst', { KINDLING_MODE: 'repair' });
    expect(again.outcome).toMatchObject({ data: { chunks: { differed: [] }, bytesWritten: 0 } });
    expect(again.fetched.filter((line) => line.startsWith('/chunked.zst '))).toEqual([]);
  });

  test('a mode that needs a manifest fails without one', async () => {
    expect((await write('/plain.zst', { KINDLING_MODE: 'repair' }, OLD)).code).toBe('KND_IMAGE_MANIFEST');
  });
});

describe('neighbors', () => {
  test('a node finds itself in the list and takes chunks from the others', async () => {
    const helper = join(folder, 'helper.disk');
    await writeFile(helper, RAW);
    const port = await freePort();
    const urls = [`http://127.0.0.1:${port}`, `http://127.0.0.2:${port}`];
    // the other node has the image and goes on serving it
    const stop = new AbortController();
    const other = writeImage(
      {
        sources: [`${server.url}/chunked.zst`],
        target: await damagedCopy(helper),
        chunks: {
          mode: 'delta',
          neighbors: { urls, ownUrl: urls[1] ?? '', listen: { host: '127.0.0.2', port }, lingerMs: 60_000 },
        },
      },
      { signal: stop.signal },
    ).catch(() => undefined);
    // its door is open before anybody needs it, and stays so while somebody asks
    const ask = () => fetch(`${urls[1]}/${manifestRoot}/have`).then(({ ok }) => ok || undefined);
    await waitFor(() => ask().catch(() => undefined), { name: 'the other node', timeoutMs: 60_000 });
    const asking = setInterval(() => ask().catch(() => undefined), 500);
    const { outcome, found } = await write(
      '/chunked.zst',
      { KINDLING_NEIGHBOURS: urls.join(' '), KINDLING_NEIGHBOUR_LINGER_SECONDS: '0' },
      OLD,
    );
    clearInterval(asking);
    stop.abort();
    await other;
    expect(found.equals(RAW)).toBe(true);
    const data = outcome.status === 'success' ? (outcome.data as unknown as WriteImageResult) : undefined;
    expect(data?.chunks?.fromNeighbours).toBeGreaterThan(0);
  });

  test('a node that is not in the list takes no part', async () => {
    const { outcome, found } = await write(
      '/chunked.zst',
      { KINDLING_NEIGHBOURS: 'http://192.0.2.1:7070' },
      OLD,
    );
    expect(found.equals(RAW)).toBe(true);
    expect(outcome).toMatchObject({ data: { chunks: { fromNeighbours: 0 } } });
  });
});

/** Something to write, so that the other node opens its door at all. */
async function damagedCopy(path: string): Promise<string> {
  const bytes = Buffer.from(RAW);
  bytes.fill(0x5a, 9 * MIB + 8192, 9 * MIB + 12_288);
  await writeFile(path, bytes);
  return path;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe('under its other names', () => {
  const act = (action: string, path: string, variables: Record<string, string> = {}) =>
    startChild(
      action,
      { IMG_URL: `${server.url}${path}`, DEST_DISK: disk.device, ...variables },
      { stateDirectory: join(folder, 'state') },
    );

  test.each([
    ['quay.io/tinkerbell/actions/qemuimg2disk:latest', { FORMAT: 'host_device', EXTRA_ARGS: '-W' }],
    ['tinker-actions/qemu_nbd_image2disk:1.21.1', { COMPRESSED: 'false', SHA256: 'of the file' }],
    ['iso2disk', { KINDLING_READ_BACK: 'all' }],
  ])('%s writes what it is given, and again', async (action, variables) => {
    const raw = join(folder, 'other-names.raw');
    const qcow2 = join(folder, 'other-names.qcow2');
    await writeFile(raw, RAW);
    execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', '-c', raw, qcow2]);
    const bytes = action === 'iso2disk' ? RAW : await readFile(qcow2);
    const other = await startImageServer({ '/image': { bytes } });
    const given = { ...variables, ...('SHA256' in variables ? { SHA256: digest('sha256', bytes) } : {}) };
    for (const _ of [1, 2]) {
      await writeFile(disk.device, OLD);
      const outcome = await startChild(
        action,
        { IMG_URL: `${other.url}/image`, DEST_DISK: disk.device, ...given },
        { stateDirectory: join(folder, 'state') },
      );
      expect(outcome).toMatchObject({ status: 'success' });
      execFileSync('blockdev', ['--flushbufs', disk.device]);
      expect((await readFile(disk.device)).equals(RAW)).toBe(true);
    }
    await other.close();
  });

  test.each(['image2disk', 'qemuimg2disk', 'iso2disk'])(
    '%s refuses a wrong hash, a server that has nothing and a disk that is not there',
    async (action) => {
      await writeFile(disk.device, OLD);
      const once = { RETRY_ENABLED: 'false' };
      expect(await act(action, '/plain.zst', { ...once, SHA256: 'f'.repeat(64) })).toMatchObject({
        status: 'failed',
        error: { code: 'KND_IMAGE_HASH' },
      });
      expect(await act(action, '/nothing-here', once)).toMatchObject({ status: 'failed' });
      expect(await act(action, '/plain.zst', { DEST_DISK: '/dev/nothing' })).toMatchObject({
        status: 'failed',
        error: { code: 'KND_DISK_NOT_FOUND' },
      });
      const asked = await act(action, '/plain.zst', { KINDLING_REQUIRE_CONSENT: 'always' });
      expect(asked).toMatchObject({ status: 'failed', error: { code: 'KND_CONSENT_REQUIRED' } });
    },
  );

  test('goes to a mirror where the first address has nothing, and takes the manifest from where it is told', async () => {
    const { outcome, found } = await write(
      '/nothing-here',
      { KINDLING_MIRRORS: `${server.url}/plain.zst`, RETRY_DURATION_MINUTES: '1' },
      OLD,
    );
    expect(outcome).toMatchObject({ status: 'success' });
    expect(found.equals(RAW)).toBe(true);
    const chunked = await write(
      '/chunked.zst',
      { KINDLING_MANIFEST: `${server.url}/unsigned.zst.manifest`, KINDLING_MANIFEST_ROOT: manifestRoot },
      OLD,
    );
    expect(chunked.outcome).toMatchObject({ status: 'success', data: { format: 'chunked' } });
    expect(chunked.found.equals(RAW)).toBe(true);
  });
});
