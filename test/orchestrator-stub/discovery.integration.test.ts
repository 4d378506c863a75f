import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stub, startStub } from '../../orchestrator-stub/serve.ts';

const UUID = '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5';
const inventory = {
  identity: { uuid: UUID, serial: 'ABC12345', macs: ['52:54:00:12:34:56'], nodeId: 'n1', evidence: [] },
  disks: [{ kind: 'disk', path: '/dev/sda', sizeBytes: 1 }],
};

let folder: string;
let stub: Stub;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-stub-'));
  stub = await startStub({ stateFolder: folder, host: '127.0.0.1', port: false, plainPort: 0 });
});

afterEach(async () => {
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

async function call(path: string, init: RequestInit & { json?: unknown } = {}) {
  const { json, ...rest } = init;
  const response = await fetch(stub.urls.http + path, {
    ...rest,
    ...(json === undefined
      ? {}
      : { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: text ? JSON.parse(text) : undefined,
  };
}

/** What comes of a stream up to the piece that has this in it. */
async function readUntil({ body }: Response, wanted: string): Promise<string> {
  let text = '';
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(wanted)) break;
  }
  return text;
}

test('a machine that shows itself is listed but not let in, and keeps its id once it is registered', async () => {
  const first = await call('/api/v1/discovery', { method: 'POST', json: inventory });
  expect(first.status).toBe(200);
  const { nodeId } = first.body;
  const again = await call('/api/v1/discovery', { method: 'POST', json: inventory });
  expect(again.body.nodeId).toBe(nodeId);

  const listed = await call('/api/v1/nodes');
  expect(listed.body.nodes).toMatchObject([
    { id: nodeId, uuid: UUID, group: 'strangers', statusText: 'Discovered, not registered' },
  ]);

  const registered = await call('/api/v1/nodes', {
    method: 'POST',
    json: { serial: 'abc12345', name: 'till-7' },
  });
  expect(registered.status).toBe(201);
  expect(registered.body).toMatchObject({ id: nodeId, name: 'till-7', isRegistered: true, uuid: null });
  const shown = await call('/api/v1/nodes/till-7');
  expect(shown.body.inventory.disks).toEqual(inventory.disks);
});

test('what has no identity is refused with a code and changes nothing', async () => {
  for (const json of [
    {},
    { identity: { macs: ['no mac'], nodeId: 'x' } },
    { identity: { uuid: '1', macs: [], nodeId: 'x' } },
  ]) {
    const answer = await call('/api/v1/discovery', { method: 'POST', json });
    expect(answer.status).toBe(400);
    expect(answer.type).toBe('application/problem+json');
    expect(answer.body.code).toBe('KND_API_INVALID');
  }
  const garbage = await fetch(`${stub.urls.http}/api/v1/discovery`, { method: 'POST', body: '{' });
  expect(garbage.status).toBe(400);
  expect((await call('/api/v1/nodes')).body.nodes).toEqual([]);
});

test('watchers see a discovery as it happens', async () => {
  const stop = new AbortController();
  const events = await fetch(`${stub.urls.http}/api/v1/events`, { signal: stop.signal });
  const { nodeId } = (await call('/api/v1/discovery', { method: 'POST', json: inventory })).body;
  const text = await readUntil(events, 'event: node');
  expect(text).toContain(`"nodeId":"${nodeId}","change":"discovered"`);
  stop.abort();
});

test('a registered node that shows itself twice is told of once', async () => {
  const node = await call('/api/v1/nodes', { method: 'POST', json: { uuid: UUID } });
  const stop = new AbortController();
  const events = await fetch(`${stub.urls.http}/api/v1/events`, { signal: stop.signal });
  for (const _time of ['first', 'second'])
    expect((await call('/api/v1/discovery', { method: 'POST', json: inventory })).body.nodeId).toBe(
      node.body.id,
    );
  const last = await call('/api/v1/nodes', { method: 'POST', json: { serial: 'LAST1234' } });
  const text = await readUntil(events, last.body.id);
  stop.abort();
  const changes = [...text.matchAll(/"nodeId":"([^"]+)","change":"([^"]+)"/g)].map(([, id, change]) => [
    id,
    change,
  ]);
  expect(changes.filter(([id]) => id === node.body.id)).toEqual([[node.body.id, 'discovered']]);
});

test('the state folder and what is in it belong to the owner only', async () => {
  expect((await stat(folder)).mode & 0o077).toBe(0);
  expect((await stat(join(folder, 'site-ca.key'))).mode & 0o077).toBe(0);
});

test('a serial with dashes, slashes and spaces, as firmware has it, registers a machine and finds it', async () => {
  const serial = 'CN-7016/23 4.1';
  const json = { ...inventory, identity: { ...inventory.identity, serial } };
  const { nodeId } = (await call('/api/v1/discovery', { method: 'POST', json })).body;
  const registered = await call('/api/v1/nodes', { method: 'POST', json: { serial, name: 'till-8' } });
  expect(registered.body).toMatchObject({ id: nodeId, serial });
  const shown = await call(`/api/v1/nodes/${encodeURIComponent(serial)}`);
  expect(shown.body).toMatchObject({ id: nodeId, name: 'till-8' });

  const hostile = await call('/api/v1/nodes', { method: 'POST', json: { serial: 'a: {{.x}}' } });
  expect(hostile.status).toBe(400);
  expect(JSON.stringify(hostile.body)).toContain('up to 64 letters');
});
