import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runInChild } from '../../actions/process/run-in-child.ts';
import { startChild } from '../../actions/process/start-child.ts';
import { machine } from '../../agent/machine.ts';
import type { ActionEvent } from '../../protocol/action-events.ts';
import { collectPayload } from '../../standalone/usb/payload-files.ts';
import { type ImageServer, type ServedFile, startImageServer } from './image-writer/image-server.ts';
import { makeDiskImage } from './image-writer/test-image.ts';
import { type LoopDisk, loopDisk } from './loop-disk.ts';
import { testRegistry } from './registry/test-registry.ts';

/**
 * What image2disk of Tinkerbell and of EMF do wrong when they write
 * (docs/background/tinkerbell.md#faults-of-the-actions, docs/background/emf.md#writing-an-image,
 * docs/background/emf.md#writing-a-qcow2-image), each as a test they would fail.
 */
const MIB = 2 ** 20;
const RAW = makeDiskImage(12 * MIB, 5);
const GZ = gzipSync(RAW);
const ZST = zstdCompressSync(RAW);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

let folder: string;
let disk: LoopDisk;
let server: ImageServer | undefined;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-defects-'));
  disk = await loopDisk(RAW.length);
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function write(file: ServedFile, variables: Record<string, string> = {}, query = '') {
  server = await startImageServer({ '/disk': file });
  const events: ActionEvent[] = [];
  const outcome = await startChild(
    'image2disk',
    {
      IMG_URL: `${server.url}/disk${query}`,
      DEST_DISK: disk.device,
      RETRY_DURATION_MINUTES: '0',
      ...variables,
    },
    { stateDirectory: path.join(folder, 'state'), onEvent: (event) => void events.push(event) },
  );
  execFileSync('blockdev', ['--flushbufs', disk.device]);
  const found = await readFile(disk.device);
  return {
    status: outcome.status,
    code: outcome.status === 'success' ? undefined : outcome.error?.code,
    isWhole: found.equals(RAW),
    isBootable: found.subarray(0, 4096).some((byte) => byte !== 0),
    events,
    requests: server.requests,
  };
}

describe('image2disk', () => {
  it('a download that is cut short is no success, and the disk does not boot half an image', async () => {
    const cut = await write({ bytes: GZ, fault: { kind: 'cut', at: GZ.length / 2 }, hasRanges: false });
    expect(cut).toMatchObject({ status: 'failed', isBootable: false });
  });

  it('nor is one that ends in order, but in the middle of the compressed stream', async () => {
    const short = await write({ bytes: GZ.subarray(0, GZ.length / 2) });
    expect(short).toMatchObject({ status: 'failed', isBootable: false });
  });

  it.each([300, 204, 503])('an answer %i is no image', async (status) => {
    const answer = await write({
      bytes: RAW,
      handle: (_, response) => {
        response.writeHead(status).end(status === 204 ? undefined : 'a page');
        return true;
      },
    });
    expect(answer).toMatchObject({ status: 'failed', isBootable: false });
  });

  it.each([
    ['gz', GZ],
    ['zst', ZST],
  ])(
    '%s is recognized by its bytes: with a query, without a suffix, COMPRESSED or nothing said',
    async (_, bytes) => {
      const said = await write({ bytes }, { COMPRESSED: 'true' }, '?token=a.raw');
      expect(said).toMatchObject({ status: 'success', isWhole: true });
      await server?.close();
      expect(await write({ bytes })).toMatchObject({ status: 'success', isWhole: true });
    },
  );

  it.each([
    ['true', RAW],
    ['false', GZ],
  ])(
    'COMPRESSED=%s that is not so is a mistake, not an image that boots nowhere',
    async (COMPRESSED, bytes) => {
      expect(await write({ bytes }, { COMPRESSED })).toMatchObject({
        code: 'KND_IMAGE_CONTRADICTION',
        isBootable: false,
      });
    },
  );

  it('a wrong SHA-256 is found before the disk can boot', async () => {
    const wrong = await write({ bytes: GZ }, { SHA256: '0'.repeat(64) });
    expect(wrong).toMatchObject({ code: 'KND_IMAGE_HASH', isBootable: false });
    await server?.close();
    expect(await write({ bytes: GZ }, { SHA256: sha256(GZ) })).toMatchObject({ isWhole: true });
  });

  it('a retry goes on where the download broke, not at byte 0', async () => {
    const at = Math.floor(GZ.length / 2);
    const { isWhole, requests } = await write(
      { bytes: GZ, fault: { kind: 'cut', at, times: 1 } },
      { RETRY_DURATION_MINUTES: '1' },
    );
    expect(isWhole).toBe(true);
    const resumed = requests.flatMap((line) => /bytes=(\d+)-/.exec(line)?.[1] ?? []).map(Number);
    expect(Math.max(...resumed)).toBeGreaterThan(0);
  });

  it('progress tells how far it is, not always 0', async () => {
    const { events } = await write({ bytes: RAW });
    const percents = events.flatMap((event) => (event.type === 'progress' ? (event.percent ?? []) : []));
    expect(Math.max(...percents)).toBeGreaterThan(50);
  });

  it('a disk that is not there is not made as a file in memory', async () => {
    const DEST_DISK = `/dev/kindling-typo-${process.pid}`;
    expect(await write({ bytes: RAW }, { DEST_DISK })).toMatchObject({ code: 'KND_DISK_NOT_FOUND' });
    await expect(access(DEST_DISK)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('an image larger than the disk is refused, not cut off', async () => {
    await disk[Symbol.asyncDispose]();
    disk = await loopDisk(8 * MIB);
    expect(await write({ bytes: GZ })).toMatchObject({ status: 'failed', isBootable: false });
  });
});

describe('the installer stick', () => {
  it.each([
    ['os.raw', RAW],
    ['os.raw.gz', GZ],
    ['os.img.zst', ZST],
    ['os', RAW],
  ])('defect 17: an image called %s is taken, and written for what it is', async (name, bytes) => {
    await writeFile(path.join(folder, name), bytes);
    const { image } = await collectPayload({ file: name }, folder, folder);
    expect(image).toMatchObject({ name: `image/${name}`, sha256: sha256(bytes) });
    server = await startImageServer({ [`/${image.name}`]: { bytes } });
    const outcome = await startChild(
      'image2disk',
      { IMG_URL: `${server.url}/${image.name}`, SHA256: image.sha256, DEST_DISK: disk.device },
      { stateDirectory: path.join(folder, 'state') },
    );
    expect(outcome).toMatchObject({ status: 'success' });
    execFileSync('blockdev', ['--flushbufs', disk.device]);
    expect((await readFile(disk.device)).equals(RAW)).toBe(true);
  });
});

describe('EMF’s wipe', () => {
  it('goes from disk to disk; ours has begun all before one is done', async () => {
    await using second = await loopDisk(RAW.length);
    const devices = [disk.device, second.device];
    const listDisks = async () =>
      (await machine.listDisks())
        .filter(({ path: device }) => devices.includes(device))
        .map((each) => ({ ...each, kind: 'disk' as const, serial: each.name }));
    const stages: string[] = [];
    await runInChild({
      action: 'erase_non_removable_disks',
      variables: { ERASE_METHOD: 'overwrite' },
      machine: { ...machine, listDisks },
      signal: new AbortController().signal,
      emit: (event) => event.type === 'progress' && stages.push(event.stage),
    });
    const at = (stage: string) =>
      devices.map((device) => stages.indexOf(`erasing ${path.basename(device)}: ${stage}`));
    expect(Math.min(...at('overwrite'))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...at('overwrite'))).toBeLessThan(Math.min(...at('erased')));
  });
});

describe('oci2disk', () => {
  it('the layer is compressed as its bytes say, not as the tag ends', async () => {
    using registry = await testRegistry({ layers: [ZST] });
    const outcome = await startChild(
      'oci2disk',
      { IMG_URL: registry.image, DEST_DISK: disk.device },
      { stateDirectory: path.join(folder, 'state') },
    );
    expect(outcome).toMatchObject({ status: 'success' });
    execFileSync('blockdev', ['--flushbufs', disk.device]);
    expect((await readFile(disk.device)).equals(RAW)).toBe(true);
  });
});

describe('rootio', () => {
  it('what fails does not end with success', async () => {
    const outcome = await startChild(
      'rootio',
      { JSON_FILE: path.join(folder, randomBytes(4).toString('hex')), TEST: 'y' },
      { args: ['partition'], stateDirectory: path.join(folder, 'state') },
    );
    expect(outcome).toMatchObject({ status: 'failed' });
  });

  it('wipe takes no GiB of memory for a GiB of disk, and reaches the end of the disk', async () => {
    await using large = await loopDisk(2 ** 31);
    execFileSync('sfdisk', ['--quiet', large.device], { input: 'label: gpt\n,\n' });
    const metadata = path.join(folder, 'metadata.json');
    const storage = { disks: [{ device: large.device, wipe_table: true, partitions: [] }] };
    await writeFile(metadata, JSON.stringify({ metadata: { instance: { storage } } }));
    const peak = () => process.resourceUsage().maxRSS * 1024;
    const before = peak();
    await runInChild({
      action: 'rootio',
      args: ['wipe'],
      variables: { JSON_FILE: metadata },
      machine,
      signal: new AbortController().signal,
      emit: () => {},
    });
    expect(peak() - before).toBeLessThan(512 * MIB);
    expect(execFileSync('wipefs', ['--no-act', large.device]).toString()).toBe('');
  });
});
