import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WriteImageRequest, WriteImageResult } from '../../../actions/image-writer/index.ts';
import { bundleWriter, type Writer } from '../../../bench/image-write/bundle-writer.ts';
import { buildUplinkNetwork, type UplinkNetwork } from '../../../bench/image-write/uplink-network.ts';
import { indexImage } from '../../../images/index-image.ts';
import { makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(48 * MIB, 61);
const NODES = 8;
/** One more machine on the same switch, which claims to have everything and serves noise. */
const LIAR = NODES;
const PORT = 7070;
const LIAR_PROGRAM = `require('node:http').createServer((request, response) => {
  response.end(request.url.endsWith('/have') ? Buffer.alloc(64, 0xff) : 'this is not a chunk');
}).listen(${PORT}, () => console.log('lying'))`;

let folder: string;
let network: UplinkNetwork;
let writer: Writer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-site-'));
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, join(folder, 'disk.zst'), { chunkSize: MIB, level: 1 });
  writeFileSync(join(folder, 'disk.zst.manifest'), manifest);
  writer = await bundleWriter(join(folder, 'bundle'));
  network = await buildUplinkNetwork(folder, NODES + 1, 50);
});
afterAll(async () => {
  await network?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const diskOf = (node: number) => join(folder, `node${node}.disk`);

function startNode(node: number, urls: readonly string[]) {
  writeFileSync(diskOf(node), Buffer.alloc(RAW.length, 0xaa));
  const request: WriteImageRequest = {
    sources: [`${network.originUrl}/disk.zst`],
    target: diskOf(node),
    chunks: {
      use: 'require',
      neighbors: {
        urls,
        ownUrl: urls[node] ?? '',
        listen: { host: network.address(node), port: PORT },
        lingerMs: 90_000,
      },
    },
  };
  const [program = '', ...args] = [...network.inNode(node), 'bash', '-c', `exec ${writer(request)}`];
  return execa(program, args);
}

test('eight nodes behind 50 Mbit/s, and a ninth that serves garbage: about one image over the uplink', {
  timeout: 300_000,
}, async () => {
  const urls = Array.from({ length: NODES + 1 }, (_, node) => `http://${network.address(node)}:${PORT}`);
  const [program = '', ...args] = [...network.inNode(LIAR), process.execPath, '-e', LIAR_PROGRAM];
  const liar = execa(program, args, { reject: false });
  await new Promise((resolve) => liar.stdout.once('data', resolve));
  const before = network.uplinkBytes();
  const ended = await Promise.all(Array.from({ length: NODES }, (_, node) => startNode(node, urls)));
  const overUplink = network.uplinkBytes() - before;
  liar.kill();
  await liar;
  for (let node = 0; node < NODES; node += 1) expect(readFileSync(diskOf(node)).equals(RAW)).toBe(true);
  const results = ended.map(({ stdout }) => JSON.parse(stdout) as WriteImageResult);
  const fromNeighbours = results.map(({ chunks }) => chunks?.fromNeighbours ?? 0);
  expect(Math.min(...fromNeighbours)).toBeGreaterThan(0);
  expect(ended.some(({ stderr }) => stderr.includes('served something that is not chunk'))).toBe(true);
  expect(overUplink / statSync(join(folder, 'disk.zst')).size).toBeLessThan(1.3);
});
