import { afterEach, beforeEach, expect, test } from 'vitest';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';

const OTHER = {
  uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c6',
  serialnum: 'OTHER1234',
  macId: '52:54:00:12:34:57',
};
let running: RunningStub;

beforeEach(async () => {
  running = await RunningStub.start({ port: 0, plainPort: false });
});
afterEach(() => running[Symbol.asyncDispose]());

const discover = (identity: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  running.api('POST', '/api/v1/discovery', {
    json: { identity: { macs: [], nodeId: 'x', ...identity }, ...more },
    token: null,
  });
const register = async (json: Record<string, unknown>) =>
  (await running.api('POST', '/api/v1/nodes', { json })).body;
const node = async (key: string) => (await running.api('GET', `/api/v1/nodes/${key}`)).body;
test('S-06: a stranger that calls itself like a node is not found in its place', async () => {
  const { id } = await register({ uuid: NODE.uuid, name: 'laptop7' });
  expect((await discover({ serial: 'laptop7' })).status).toBe(200);
  expect(await node('laptop7')).toMatchObject({ id });
  await register({ uuid: OTHER.uuid, name: 'twin' });
  const twin = await register({ serial: 'TWIN12345', name: 'other' });
  await running.api('PATCH', `/api/v1/nodes/${twin.id}`, { json: { name: 'twin' } });
  expect(await running.api('GET', '/api/v1/nodes/twin')).toMatchObject({ status: 409 });
});

test('S-07: what was said before a registration is no part of it', async () => {
  await discover({ serial: 'TILL55555', uuid: OTHER.uuid, macs: [OTHER.macId] });
  await register({ serial: 'TILL55555', name: 'till-5', autoOnboard: true });
  expect(await node('till-5')).toMatchObject({ uuid: null, mac: null, serial: 'TILL55555' });
  const real = await running.knock({ serialnum: 'TILL55555' });
  expect(real.status?.code).toBe(0);
});

test('S-18: a node that is written anew gets a new secret, and the old one is dead', async () => {
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64) },
  });
  const { id } = await register({ uuid: NODE.uuid, autoOnboard: true, profile: 'edge' });
  const first = await running.knock();
  await expect.poll(async () => (await node(id)).generation).toBe(1);
  expect((await running.api('POST', `/api/v1/nodes/${id}/reprovision`, { json: {} })).status).toBe(200);
  expect(await running.accessToken(first)).toBeUndefined();
  const second = await running.knock();
  expect(second.clientSecret).not.toBe(first.clientSecret);
  expect(await running.accessToken(second)).toBeTypeOf('string');
});

test('S-20: invented machines push out each other and no registered one; an inventory has a size', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { maxUnknownMachines: 2 } });
  await register({ uuid: NODE.uuid, name: 'till' });
  for (let index = 0; index < 5; index += 1) {
    const uuid = `6f8a3c1e-0d2b-4a77-9c55-00000000000${index}`;
    expect((await discover({ uuid })).status).toBe(200);
  }
  const { nodes } = (await running.api('GET', '/api/v1/nodes')).body;
  expect(nodes).toHaveLength(3);
  expect((await discover({ uuid: NODE.uuid })).status).toBe(200);
  const large = { identity: { macs: [], nodeId: 'x', uuid: OTHER.uuid }, extra: 'x'.repeat(1_000_000) };
  const answer = await running.api('POST', '/api/v1/discovery', { json: large, token: null });
  expect(answer.status).toBe(413);
});
