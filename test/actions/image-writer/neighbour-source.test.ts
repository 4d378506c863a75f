import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ChunkTable } from '../../../actions/image-writer/chunks/chunk-table.ts';
import { NeighbourList } from '../../../actions/image-writer/chunks/neighbours/neighbour-list.ts';
import { NeighbourSource } from '../../../actions/image-writer/chunks/neighbours/neighbour-source.ts';
import { rankOwners } from '../../../actions/image-writer/chunks/neighbours/rank.ts';
import { decodeManifest, encodeManifest } from '../../../protocol/image-manifest.ts';

const COUNT = 40;
const CHUNK_SIZE = 1024 * 1024;
/** How often neighbours are asked what they have is every 500 ms. */
const LONGER_THAN_A_LOOK_MS = 600;
const OWN = 'http://10.0.0.1:7070';
const raw = (index: number) => Buffer.alloc(CHUNK_SIZE, index + 1);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

function tableOf(): ChunkTable {
  const none = '0'.repeat(64);
  const facts = {
    size: COUNT * CHUNK_SIZE,
    chunkSize: CHUNK_SIZE,
    blobSize: COUNT,
    blobSha256: none,
    rawSha256: none,
  };
  const chunks = Array.from({ length: COUNT }, (_, index) => ({
    index,
    offset: index,
    length: 1,
    storedSha256: none,
    rawSha256: sha256(raw(index)),
  }));
  return ChunkTable.fromManifest(decodeManifest(encodeManifest(facts, chunks)));
}

test('a neighbour that comes in the middle of a round takes its share of the uplink from then on', async () => {
  let hasAll = false;
  await using neighbour = createServer((request, response) => {
    const index = Number(request.url?.split('/').at(-1));
    response.end(
      request.url?.endsWith('/have')
        ? Buffer.alloc(COUNT / 8, hasAll ? 0xff : 0)
        : zstdCompressSync(raw(index)),
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => neighbour.once('listening', resolve));
  const url = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}`;
  const list = new NeighbourList();
  const settings = { root: 'r', list: list.memory, ownUrl: OWN, patienceMs: 60_000 };
  const source = new NeighbourSource(settings, {}, tableOf());
  for (let index = 0; index < COUNT; index += 1) source.postpone(index);

  const isMine = (index: number) => rankOwners(index, [OWN, url])[0] === OWN;
  const [fromOrigin, fromNeighbour]: [number[], number[]] = [[], []];
  await source.drain(async (index, bytes) => {
    if (bytes) return void fromNeighbour.push(index);
    fromOrigin.push(index);
    list.set([url]);
    if (fromOrigin.length === 1) await delay(LONGER_THAN_A_LOOK_MS);
    const missing = Array.from({ length: COUNT }, (_, each) => each).filter(
      (each) => !fromOrigin.includes(each),
    );
    hasAll = !missing.some(isMine);
  });
  source.close();
  expect([...fromOrigin, ...fromNeighbour].sort((a, b) => a - b)).toEqual(
    Array.from({ length: COUNT }, (_, index) => index),
  );
  expect(fromOrigin.slice(1).every(isMine)).toBe(true);
  expect(fromNeighbour.some(isMine)).toBe(false);
});
