import { createHash, hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { ChunkTable, STATE } from '../../../actions/image-writer/chunks/chunk-table.ts';
import { NeighborList } from '../../../actions/image-writer/chunks/neighbors/neighbor-list.ts';
import { NeighborServer } from '../../../actions/image-writer/chunks/neighbors/neighbor-server.ts';
import { NeighborSource } from '../../../actions/image-writer/chunks/neighbors/neighbor-source.ts';
import { rankOwners } from '../../../actions/image-writer/chunks/neighbors/rank.ts';
import { planSpans } from '../../../actions/image-writer/chunks/plan-spans.ts';
import { openTarget, type Target } from '../../../actions/image-writer/target/target.ts';
import { Withheld } from '../../../actions/image-writer/target/withheld.ts';
import { decodeManifest, encodeManifest } from '../../../formats/image-manifest.ts';

vi.setConfig({ testTimeout: 30_000 });

const COUNT = 40;
const CHUNK_SIZE = 1024 * 1024;
/** How often neighbors are asked what they have is every 500 ms. */
const LONGER_THAN_A_LOOK_MS = 600;
const OWN = 'http://10.0.0.1:7070';
const raw = (index: number) => Buffer.alloc(CHUNK_SIZE, index + 1);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

function tableOf(first = raw(0)): ChunkTable {
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
    rawSha256: sha256(index === 0 ? first : raw(index)),
  }));
  return ChunkTable.fromManifest(decodeManifest(encodeManifest(facts, chunks)));
}

const ALL = Array.from({ length: COUNT }, (_, index) => index);
const isChunk = (url: string | undefined) => url?.includes('/chunks/') === true;
const indexOf = (url: string | undefined) => Number(url?.split('/').at(-1));

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A neighbor that answers `have` with these bits, and chunks as told (by default: rightly). */
function neighborWith(have: () => Buffer, chunk?: RequestListener) {
  return createServer((request, response) => {
    if (!isChunk(request.url)) response.end(have());
    else if (chunk) chunk(request, response);
    else response.end(zstdCompressSync(raw(indexOf(request.url))));
  });
}

function sourceWith(urls: readonly string[], patienceMs = 60_000) {
  const list = new NeighborList();
  list.set(urls);
  const logged: string[] = [];
  const settings = { root: 'r', list: list.memory, ownUrl: OWN, patienceMs };
  const source = new NeighborSource(settings, {}, tableOf(), (message) => logged.push(message));
  return { source, list, logged };
}

/** Drains all chunks; gives which came from where. */
async function drainAll(source: NeighborSource) {
  const [fromOrigin, fromNeighbor]: [number[], number[]] = [[], []];
  for (const index of ALL) source.postpone(index);
  await source.drain(async (index, bytes) => void (bytes ? fromNeighbor : fromOrigin).push(index));
  source.close();
  return { fromOrigin, fromNeighbor };
}

test('a neighbor that comes in the middle of a round takes its share of the uplink from then on', async () => {
  let hasAll = false;
  await using neighbor = neighborWith(() => Buffer.alloc(COUNT / 8, hasAll ? 0xff : 0));
  const url = await listen(neighbor);
  const { source, list } = sourceWith([]);
  for (const index of ALL) source.postpone(index);

  const isMine = (index: number) => rankOwners(index, [OWN, url])[0] === OWN;
  const [fromOrigin, fromNeighbor]: [number[], number[]] = [[], []];
  await source.drain(async (index, bytes) => {
    if (bytes) return void fromNeighbor.push(index);
    fromOrigin.push(index);
    list.set([url]);
    if (fromOrigin.length === 1) await delay(LONGER_THAN_A_LOOK_MS);
    const missing = Array.from({ length: COUNT }, (_, each) => each).filter(
      (each) => !fromOrigin.includes(each),
    );
    hasAll = !missing.some(isMine);
  });
  source.close();
  expect([...fromOrigin, ...fromNeighbor].sort((a, b) => a - b)).toEqual(
    Array.from({ length: COUNT }, (_, index) => index),
  );
  expect(fromOrigin.slice(1).every(isMine)).toBe(true);
  expect(fromNeighbor.some(isMine)).toBe(false);
});

test('a neighbor that takes connections and never answers is waited for once, a second at most', async () => {
  let asked = 0;
  await using silent = createTcpServer((socket) => {
    socket.resume();
    asked += 1;
  });
  const { source } = sourceWith([await listen(silent)]);
  const startedAt = performance.now();
  expect(await source.isMine(0)).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(1500);
  await delay(LONGER_THAN_A_LOOK_MS);
  const again = performance.now();
  for (const index of ALL) expect(await source.isMine(index)).toBe(true);
  expect(performance.now() - again).toBeLessThan(200);
  expect(asked).toBe(1);
  source.close();
});

test('a neighbor that only starts a moment later is found at the next look', async () => {
  await using late = neighborWith(() => Buffer.alloc(COUNT / 8, 0xff));
  const url = await listen(late);
  const { port } = late.address() as AddressInfo;
  await new Promise((resolve) => late.close(resolve));
  const { source } = sourceWith([url]);
  expect(await source.isMine(0)).toBe(true);
  late.listen(port, '127.0.0.1');
  await once(late, 'listening');
  const startedAt = performance.now();
  await vi.waitFor(async () => expect(await source.isMine(0)).toBe(false), { timeout: 20_000, interval: 50 });
  expect(performance.now() - startedAt).toBeLessThan(3_000); // well before one that was silent is asked again
  source.close();
});

test('what is on its way to a neighbor is not fetched a second time, though it would be ours', async () => {
  const mine = (url: string) => ALL.filter((index) => rankOwners(index, [OWN, url])[0] === OWN);
  let comes: number[] = [];
  await using neighbor = neighborWith(() => {
    const bits = Buffer.alloc(COUNT / 4);
    for (const index of comes) {
      const at = COUNT / 8 + (index >> 3);
      bits[at] = (bits[at] ?? 0) | (1 << (index & 7));
    }
    return bits;
  });
  const url = await listen(neighbor);
  comes = mine(url).slice(0, 3);
  const { source } = sourceWith([url]);
  for (const index of mine(url)) expect(await source.isMine(index)).toBe(!comes.includes(index));
  source.close();
});

test('a neighbor that gets nothing is not waited for after a while', async () => {
  await using stuck = neighborWith(() => Buffer.alloc(COUNT / 8));
  const { source, logged } = sourceWith([await listen(stuck)], 700);
  const startedAt = performance.now();
  const { fromOrigin } = await drainAll(source);
  expect(fromOrigin).toHaveLength(COUNT);
  expect(performance.now() - startedAt).toBeLessThan(5000);
  expect(logged.join()).toContain('not waited for');
});

test('a neighbor that is busy is asked again, and the origin is left alone', async () => {
  let refusals = 5;
  await using busy = neighborWith(
    () => Buffer.alloc(COUNT / 8, 0xff),
    (request, response) => {
      refusals -= 1;
      if (refusals >= 0) response.writeHead(503).end();
      else response.end(zstdCompressSync(raw(indexOf(request.url))));
    },
  );
  const { source } = sourceWith([await listen(busy)]);
  const { fromOrigin, fromNeighbor } = await drainAll(source);
  expect(fromOrigin).toEqual([]);
  expect(fromNeighbor).toHaveLength(COUNT);
});

test('a neighbor that sends us elsewhere is not followed', async () => {
  let visits = 0;
  await using elsewhere = createServer((_, response) => {
    visits += 1;
    response.end(Buffer.alloc(COUNT / 8, 0xff));
  });
  const to = await listen(elsewhere);
  await using neighbor = createServer((request, response) => {
    response.writeHead(302, { location: `${to}${request.url}` }).end();
  });
  const { source } = sourceWith([await listen(neighbor)]);
  expect(await source.isMine(0)).toBe(true);
  source.close();
  expect(visits).toBe(0);
});

test('every node begins with the chunks it keeps when more nodes join', () => {
  const nodes = Array.from({ length: 8 }, (_, at) => `http://10.0.0.${at + 1}:7070`);
  const table = tableOf();
  const firstOf = (url: string) => {
    const spans = new Int32Array(planSpans(table, 'write', 2, url));
    return [...spans].filter((_, at) => at % 2 === 0).slice(0, 3);
  };
  const firsts = nodes.map(firstOf);
  expect(new Set(firsts.flat()).size).toBeGreaterThan(15); // of 24: hardly anything twice
  const own = firsts.flatMap((indexes, at) =>
    indexes.filter((index) => rankOwners(index, nodes)[0] === nodes[at]),
  );
  expect(own.length).toBeGreaterThan(12);
});

const { done } = STATE;

test('a node says what it has and what is coming, and no more chunks are in memory than it can send', async () => {
  const large = randomBytes(16 * CHUNK_SIZE); // more than all buffers on the way hold
  const table = tableOf(large);
  table.states.set([done, STATE.fetch, STATE.fetch, done, STATE.coming]);
  const withheld = Withheld.of({ size: table.memory.size, sectorSize: 512 });
  const target = {} as Target;
  const server = new NeighborServer({ table, target, root: 'r', firstChunk: large, withheld });
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}/r`;
  const bits = Buffer.from(await (await fetch(`${base}/have`)).arrayBuffer());
  expect(bits.length).toBe(COUNT / 4);
  expect(bits[0]).toBe(0b1001);
  expect(bits[COUNT / 8]).toBe(0b1_0000);
  const ask = async () => (await fetch(`${base}/chunks/0`)).status;
  // nobody reads what comes: two are being served, four wait, the others are sent away
  const statuses: number[] = [];
  for (let each = 0; each < 10; each += 1)
    ask().then(
      (status) => statuses.push(status),
      () => {},
    );
  const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
  await vi.waitFor(() => expect([count(200), count(503)]).toEqual([2, 4]), 20_000);
  server.close();
});

test('a node serves what the manifest names or nothing: what is withheld comes from memory, what the disk lost does not come', async () => {
  const last = COUNT - 1;
  const folder = mkdtempSync(join(tmpdir(), 'kindling-serves-'));
  const path = join(folder, 'disk');
  const content = Buffer.concat(ALL.map(raw));
  content.fill(0, content.length - 512); // withheld
  content.fill(0x5a, 5 * CHUNK_SIZE, 5 * CHUNK_SIZE + 9); // lost
  writeFileSync(path, content);
  const target = openTarget(path);
  const table = tableOf();
  table.states.fill(done);
  const withheld = Withheld.of(target);
  withheld.keep(Buffer.alloc(512, last + 1), content.length - 512);
  const server = new NeighborServer({ table, target, root: 'r', firstChunk: raw(0), withheld });
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}/r`;
  const get = async (index: number) => {
    const answer = await fetch(`${base}/chunks/${index}`);
    const body = Buffer.from(await answer.arrayBuffer());
    return answer.status === 200 && hash('sha256', zstdDecompressSync(body)) === sha256(raw(index));
  };
  const has = async (index: number) => {
    const bits = Buffer.from(await (await fetch(`${base}/have`)).arrayBuffer());
    return ((bits[index >> 3] ?? 0) >> (index & 7)) & 1;
  };
  expect([await has(last), await get(last)]).toEqual([1, true]);
  expect([await has(5), await get(5), await has(5)]).toEqual([1, false, 0]);
  server.close();
  target.close();
  rmSync(folder, { recursive: true });
});
