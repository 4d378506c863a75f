import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type WriteImageResult, writeImage } from '../../../actions/image-writer/index.ts';
import { indexImage } from '../../../images/index-image.ts';
import { makeCertificate } from '../registry/test-certificate.ts';
import { type ImageServer, startImageServer } from './image-server.ts';
import { makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(24 * MIB, 11);

let folder: string;
let server: ImageServer;
let blobBytes = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-neighbors-'));
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  const blob = readFileSync(`${raw}.zst`);
  blobBytes = blob.length;
  server = await startImageServer({
    '/disk.zst': { bytes: blob },
    '/disk.zst.manifest': { bytes: Buffer.from(manifest) },
  });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((each) => new Promise((resolve) => each.once('listening', resolve))));
  const ports = servers.map((each) => (each.address() as AddressInfo).port);
  await Promise.all(servers.map((each) => new Promise((resolve) => each.close(resolve))));
  return ports;
}

function startNode(
  name: string,
  port: number,
  urls: readonly string[],
  warnings: string[] = [],
): Promise<WriteImageResult> {
  const target = join(folder, `${name}.disk`);
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  return writeImage(
    {
      sources: [`${server.url}/disk.zst`],
      target,
      chunks: {
        neighbors: {
          urls,
          ownUrl: `http://127.0.0.1:${port}`,
          listen: { host: '127.0.0.1', port },
          lingerMs: 20_000,
        },
      },
    },
    { log: (_, message) => warnings.push(message) },
  );
}

const diskOf = (name: string) => readFileSync(join(folder, `${name}.disk`));

test('four nodes that help each other cost the origin about one image', async () => {
  const ports = await freePorts(4);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const before = server.bytesSent();
  const warnings: string[] = [];
  const results = await Promise.all(ports.map((port, i) => startNode(`helper-${i}`, port, urls, warnings)));
  expect(warnings.filter((line) => line.includes('served something'))).toEqual([]);
  for (const [i] of ports.entries()) expect(diskOf(`helper-${i}`).equals(RAW)).toBe(true);
  const fromNeighbours = results.reduce((sum, result) => sum + (result.chunks?.fromNeighbours ?? 0), 0);
  expect(fromNeighbours).toBeGreaterThan(0);
  // the manifest and the first chunk are everybody's own: they say what is to be trusted, and what disk it wants
  const firstChunk = RAW.length / 24;
  expect(server.bytesSent() - before).toBeLessThan(blobBytes * 1.3 + 4 * firstChunk);
});

test('a neighbor that serves garbage is dropped, and the image is right', async () => {
  const liar = createServer((request, response) => {
    if (request.url?.endsWith('/have')) response.end(Buffer.alloc(3, 0xff));
    else response.end(Buffer.from('this is not a chunk'));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => liar.once('listening', resolve));
  const liarUrl = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
  const [port = 0] = await freePorts(1);
  const warnings: string[] = [];
  const result = await startNode('lied-to', port, [liarUrl, `http://127.0.0.1:${port}`], warnings);
  liar.closeAllConnections();
  liar.close();
  expect(diskOf('lied-to').equals(RAW)).toBe(true);
  expect(result.chunks?.fromNeighbours).toBe(0);
  expect(warnings.join('\n')).toMatch(/served something that is not chunk/);
});

test('an orchestrator behind the site’s own CA is believed by the CA of the request, or by the process’s own', async () => {
  const { cert, key } = await makeCertificate('127.0.0.1');
  const asked: string[] = [];
  await using orchestrator = createTlsServer({ cert, key }, (request, response) => {
    asked.push(request.method ?? '');
    response.end(JSON.stringify({ neighbours: [], againSeconds: 1 }));
  }).listen(0, '127.0.0.1');
  await once(orchestrator, 'listening');
  const { port } = orchestrator.address() as AddressInfo;
  const target = join(folder, 'tls.disk');
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const warnings: string[] = [];
  await writeImage(
    {
      sources: [`${server.url}/disk.zst`],
      target,
      transport: { caCertificates: cert },
      chunks: { neighbors: { directoryUrl: `https://127.0.0.1:${port}/key`, listen: { port: 0 } } },
    },
    { log: (level, message) => level === 'warn' && warnings.push(message) },
  );
  orchestrator.closeAllConnections();
  expect(warnings).toEqual([]);
  expect(asked[0]).toBe('POST');
  expect(asked.at(-1)).toBe('DELETE');
});

test('neighbors that are not there cost nothing but a look', async () => {
  const [port = 0, nobody = 0] = await freePorts(2);
  await startNode('alone', port, [`http://127.0.0.1:${nobody}`, `http://127.0.0.1:${port}`]);
  expect(diskOf('alone').equals(RAW)).toBe(true);
});
