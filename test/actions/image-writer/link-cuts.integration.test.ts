import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeImage } from '../../../actions/image-writer/index.ts';
import { indexImage } from '../../../orchestrator-stub/images/index-image.ts';
import { encodeImage, makeDiskImage, seededRandom } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(16 * MIB, 51);
const SEED = 20261116;
const PIECE = 32 * 1024;
const CUTS_PER_WRITE = 5;

let folder: string;
let server: Server;
let port = 0;
const files = new Map<string, Buffer>();
/** Called before every piece, with what was served of this path so far; answers whether the link is cut here. */
let cutsHere: (path: string, served: number) => boolean = () => false;
const served = new Map<string, number>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-cuts-'));
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  files.set('chunked.zst', readFileSync(`${raw}.zst`));
  files.set('chunked.zst.manifest', Buffer.from(manifest));
  for (const format of ['zst', 'gz', 'xz', 'raw'] as const)
    files.set(`plain.${format}`, encodeImage(RAW, format));
  server = createServer((request, response) => serve(request.url ?? '', request.headers.range, response));
  await listen();
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

async function listen(): Promise<void> {
  server.listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  port = (server.address() as AddressInfo).port;
}

/** Paths are /<run>/<file>, so that every run has its own count. */
function serve(path: string, rangeHeader: string | undefined, response: ServerResponse): void {
  const bytes = files.get(path.split('/')[2] ?? '');
  if (!bytes) return void response.writeHead(404).end();
  const range = /bytes=(\d+)-(\d*)/.exec(rangeHeader ?? '');
  const start = range ? Number(range[1]) : 0;
  const end = range?.[2] ? Number(range[2]) + 1 : bytes.length;
  response.writeHead(range ? 206 : 200, {
    etag: '"one"',
    'accept-ranges': 'bytes',
    'content-length': end - start,
    ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` } : {}),
  });
  const send = (at: number) => {
    if (at >= end || response.destroyed) return void response.end();
    const before = served.get(path) ?? 0;
    if (cutsHere(path, before)) return void response.destroy();
    const piece = bytes.subarray(at, Math.min(at + PIECE, end));
    served.set(path, before + piece.length);
    response.write(piece, () => send(at + piece.length));
  };
  send(start);
}

/** Whether firmware would find nothing to boot: no boot sector, no table. */
function isUnbootable(target: string): boolean {
  const head = Buffer.alloc(1024);
  const fd = openSync(target, 'r');
  readSync(fd, head, 0, head.length, 0);
  closeSync(fd);
  return head.every((byte) => byte === 0 || byte === 0xaa);
}

function writeTo(run: string, file: string) {
  const target = join(folder, `${run}-${file}`);
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const written = writeImage({
    sources: [`http://127.0.0.1:${port}/${run}/${file}`],
    target,
    retry: { windowMs: 30_000 },
    chunks: { journalIntervalMs: 15 },
  });
  return { target, written };
}

test.each(['chunked.zst', 'plain.zst', 'plain.gz', 'plain.xz', 'plain.raw'])(
  'the link to %s is cut at 20 seeded points: nothing boots before the end, and the end is bit-equal',
  async (file) => {
    const random = seededRandom(SEED);
    const length = files.get(file)?.length ?? 0;
    const points = new Map<string, number[]>();
    let [cuts, bootable] = [0, 0];
    const runs = ['a', 'b', 'c', 'd'].map((name) => `cut-${name}`);
    for (const run of runs) {
      const at = Array.from({ length: CUTS_PER_WRITE }, () => Math.floor(random() * length * 0.95));
      points.set(
        `/${run}/${file}`,
        at.sort((a, b) => a - b),
      );
    }
    cutsHere = (path, count) => {
      const [next] = points.get(path) ?? [];
      if (next === undefined || count < next) return false;
      points.get(path)?.shift();
      cuts += 1;
      const [, run = ''] = path.split('/');
      if (!isUnbootable(join(folder, `${run}-${file}`))) bootable += 1;
      return true;
    };
    const writes = runs.map((run) => writeTo(run, file));
    const results = await Promise.all(writes.map(({ written }) => written));
    expect(cuts).toBe(runs.length * CUTS_PER_WRITE);
    expect(bootable).toBe(0);
    for (const { target } of writes) expect(readFileSync(target).equals(RAW)).toBe(true);
    if (file !== 'chunked.zst') {
      for (const { bytesFetched } of results) expect(bytesFetched).toBe(length); // no byte twice
    }
  },
);

test('the server is restarted at six seeded points while four images are written: all end bit-equal', async () => {
  const random = seededRandom(SEED + 1);
  const names = ['chunked.zst', 'plain.zst', 'plain.gz', 'plain.raw'];
  const all = names.reduce((sum, name) => sum + (files.get(name)?.length ?? 0), 0);
  const points = Array.from({ length: 6 }, () => Math.floor(random() * all * 0.8)).sort((a, b) => a - b);
  const total = () => names.reduce((sum, name) => sum + (served.get(`/restart/${name}`) ?? 0), 0);
  let restarts = 0;
  const restart = async () => {
    restarts += 1;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await delay(200);
    await listen();
  };
  let restarting = Promise.resolve();
  cutsHere = () => {
    if (points[0] === undefined || total() < points[0]) return false;
    points.shift();
    restarting = restarting.then(restart);
    return true;
  };
  const writes = names.map((name) => writeTo('restart', name));
  await Promise.all(writes.map(({ written }) => written));
  await restarting;
  expect(restarts).toBe(6);
  for (const { target } of writes) expect(readFileSync(target).equals(RAW)).toBe(true);
});
