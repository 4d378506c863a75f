import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HostTable } from '../../orchestrator-stub/nodes/host-table.ts';
import { SqliteStore } from '../../orchestrator-stub/store/sqlite-store.ts';
import { NODE, RunningStub } from './running-stub.ts';
import { sealOf } from './seal/test-seal.ts';

const ROOT = 'a'.repeat(64);
const SECOND = {
  uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c6',
  serialnum: 'ABC12346',
  macId: '52:54:00:12:34:57',
};

let running: RunningStub;
beforeEach(async () => {
  running = await RunningStub.start({ hasNeighbors: true });
  await running.api('PUT', '/api/v1/profiles/p', { json: { imageUrl: 'http://127.0.0.1/x.raw' } });
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'p', acceptUnregistered: true } });
});
afterEach(() => running[Symbol.asyncDispose]());

/** A node that is onboarded, and the address its workflow gives it. */
async function onboard(
  node: Partial<typeof NODE> = {},
): Promise<{ id: string; path: string; firstBootKey: string }> {
  await running.knock(node);
  const { id } = (await running.api('GET', `/api/v1/nodes/${node.uuid ?? NODE.uuid}`)).body;
  const store = new SqliteStore(join(running.folder, 'kindling.sqlite'), {
    onDefect: (thrown) => {
      throw thrown;
    },
  });
  const instance = await new HostTable(store, sealOf(running.folder)).instance(id);
  await store.close();
  const path = `/api/v1/neighbours/${instance?.neighborsKey}`;
  return { id, firstBootKey: instance?.firstBootKey ?? '', path };
}

const announce = (path: string, change: object = {}) =>
  running.api('POST', path, {
    token: null,
    json: { root: ROOT, address: '10.0.0.7', port: 7070, ...change },
  });

test('two onboarded nodes that write the same image are named to each other until one leaves', async () => {
  const first = await onboard();
  const second = await onboard(SECOND);
  expect((await announce(first.path)).body).toEqual({ neighbours: [], againSeconds: 1 });
  expect((await announce(second.path, { address: '10.0.0.8' })).body.neighbours).toEqual([
    'http://10.0.0.7:7070',
  ]);
  expect((await announce(first.path)).body.neighbours).toEqual(['http://10.0.0.8:7070']);
  expect((await running.api('DELETE', second.path, { token: null })).status).toBe(204);
  expect((await announce(first.path)).body.neighbours).toEqual([]);
});

test('only nodes that are trusted and write take part', async () => {
  const first = await onboard();
  const second = await onboard(SECOND);
  expect((await announce('/api/v1/neighbours/guess')).status).toBe(404);
  await announce(second.path, { address: '10.0.0.8' });
  await running.api('POST', `/api/v1/nodes/${second.id}/deauthorise`, { json: {} });
  expect((await announce(second.path, { address: '10.0.0.8' })).status).toBe(404);
  expect((await announce(first.path)).body.neighbours).toEqual([]);
  await running.api('POST', `/api/v1/first-boot/${first.firstBootKey}`, { json: {}, token: null });
  expect((await announce(first.path)).status).toBe(404);
});

test.each([
  { root: 'x' },
  { port: 0 },
  { address: 'neighbor.test' },
  { address: '203.0.113.9' },
  { dropped: 'all' },
])('%j is refused', async (change) => {
  const { path } = await onboard();
  expect(await announce(path, change)).toMatchObject({ status: 400, body: { code: 'KND_API_INVALID' } });
});

test('a site that has not switched it on knows no neighbors, and its workflows name none', async () => {
  await running.restart({ hasNeighbors: false });
  const { path } = await onboard();
  expect((await announce(path)).status).toBe(404);
  await running.api('PATCH', '/api/v1/site', { json: { neighbours: true } });
  expect((await announce(path)).status).toBe(200);
});
