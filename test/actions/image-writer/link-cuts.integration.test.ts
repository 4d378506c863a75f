import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeImage } from '../../../actions/image-writer/index.ts';
import { indexImage } from '../../../images/index-image.ts';
import { testRandom } from '../../seeds/seeds.ts';
import { PiecewiseServer } from './piecewise-server.ts';
import { encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(16 * MIB, 51);
const SEED = 20261116;
const PIECE = 32 * 1024;
const CUTS_PER_WRITE = 5;

let folder: string;
let server: PiecewiseServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-cuts-'));
  server = await PiecewiseServer.start(PIECE);
  const { files } = server;
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  files.set('chunked.zst', readFileSync(`${raw}.zst`));
  files.set('chunked.zst.manifest', Buffer.from(manifest));
  for (const format of ['zst', 'gz', 'xz', 'raw'] as const)
    files.set(`plain.${format}`, encodeImage(RAW, format));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Whether firmware would find nothing to boot: no boot sector, no table. */
function isUnbootable(target: string): boolean {
  const head = Buffer.alloc(1024);
  const fd = openSync(target, 'r');
  readSync(fd, head, 0, head.length, 0);
  closeSync(fd);
  return head.every((byte) => byte === 0 || byte === 0xaa);
}

/** Paths are /<run>/<file>, so that every run has its own count. */
function writeTo(run: string, file: string) {
  const target = join(folder, `${run}-${file}`);
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const written = writeImage({
    sources: [`${server.url}/${run}/${file}`],
    target,
    retry: { windowMs: 30_000 },
    chunks: { journalIntervalMs: 15 },
  });
  return { target, written };
}

test.each(['chunked.zst', 'plain.zst', 'plain.gz', 'plain.xz', 'plain.raw'])(
  'the link to %s is cut at 20 seeded points: nothing boots before the end, and the end is bit-equal',
  async (file) => {
    const random = testRandom(SEED);
    const length = server.lengthOf(file);
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
    server.fateOf = (path, count) => {
      const [next] = points.get(path) ?? [];
      if (next === undefined || count < next) return 'send';
      points.get(path)?.shift();
      cuts += 1;
      const [, run = ''] = path.split('/');
      if (!isUnbootable(join(folder, `${run}-${file}`))) bootable += 1;
      return 'cut';
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
  const random = testRandom(SEED + 1);
  const names = ['chunked.zst', 'plain.zst', 'plain.gz', 'plain.raw'];
  const all = names.reduce((sum, name) => sum + server.lengthOf(name), 0);
  const points = Array.from({ length: 6 }, () => Math.floor(random() * all * 0.8)).sort((a, b) => a - b);
  const total = () => names.reduce((sum, name) => sum + server.served(`/restart/${name}`), 0);
  let restarts = 0;
  const restart = async () => {
    restarts += 1;
    await server.close();
    await delay(200);
    await server.listen();
  };
  let restarting = Promise.resolve();
  server.fateOf = () => {
    if (points[0] === undefined || total() < points[0]) return 'send';
    points.shift();
    restarting = restarting.then(restart);
    return 'cut';
  };
  const writes = names.map((name) => writeTo('restart', name));
  await Promise.all(writes.map(({ written }) => written));
  await restarting;
  expect(restarts).toBe(6);
  for (const { target } of writes) expect(readFileSync(target).equals(RAW)).toBe(true);
});
