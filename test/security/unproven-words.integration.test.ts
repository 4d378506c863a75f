import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  CreateNodesRequestSchema,
  InteractiveOnboardingService,
} from '../../protocol/generated/onboarding_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { failure, NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';

const TEMPLATE = `version: "0.1"
name: tink
global_timeout: 600
tasks:
  - name: work
    worker: {{ .device_1 }}
    actions:
      - name: stream
        image: example.org/a/image2disk:1
        timeout: 60
        environment:
          DEST_DISK: {{ index .Hardware.Disks 0 }}
          SERIAL: {{ .DeviceInfoHwSerialID }}
`;
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
const disk = (path: string) => ({ disks: [{ kind: 'disk', path }], nics: [] });

function createNodes(token: string, { uuid, serialnum, macId }: typeof OTHER): Promise<unknown> {
  const hwdata = [{ uuid, serialnum, macId, sutIp: '10.0.0.9' }];
  return callUnary(
    running.client(),
    InteractiveOnboardingService.method.createNodes,
    create(CreateNodesRequestSchema, { payload: [{ hwdata }] }),
    { headers: { authorization: `Bearer ${token}` } },
  );
}

describe('S-02', () => {
  test('an open discovery changes nothing of a registered node, and its text is no YAML', async () => {
    await running.api('PUT', '/api/v1/templates/tink', { json: { text: TEMPLATE } });
    await running.api('PUT', '/api/v1/profiles/edge', {
      json: { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64), template: 'tink' },
    });
    await register({ uuid: NODE.uuid, autoOnboard: true, profile: 'edge', name: 'till' });
    await discover({ uuid: NODE.uuid }, disk('/dev/sda'));
    const before = await node('till');
    const evil = '/dev/sdb\n          IMG_URL: http://evil.example/backdoored.raw.gz';
    expect(await discover({ uuid: NODE.uuid }, disk(evil))).toMatchObject({ status: 400 });
    expect((await discover({ uuid: NODE.uuid, serial: 'x\n  evil: 1' }, disk('/dev/sda'))).status).toBe(200);
    expect(await node('till')).toMatchObject({ serial: before.serial, lastSeenAt: before.lastSeenAt });
    await running.knock();
    const path = `/api/v1/workflows/workflow-${NODE.uuid}-g1`;
    await expect.poll(async () => (await running.api('GET', path)).status).toBe(200);
    expect((await running.api('GET', path)).body.actions).toHaveLength(1);
  });
});

describe('S-03', () => {
  test('a node’s token makes no other node, and nobody takes a deauthorization back', async () => {
    await register({ uuid: NODE.uuid, autoOnboard: true });
    const token = await running.accessToken(await running.knock());
    const victim = await register({ uuid: OTHER.uuid, serial: OTHER.serialnum, autoOnboard: true });
    await running.api('POST', `/api/v1/nodes/${victim.id}/deauthorise`);
    expect(await failure(createNodes(token, OTHER))).toMatchObject({ code: 7 });
    expect(await failure(createNodes(running.stub.token, OTHER))).toMatchObject({ code: 7 });
    expect(await node(victim.id)).toMatchObject({ currentState: 'UNTRUSTED' });
    const ghost = { ...OTHER, uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c7', serialnum: 'GHOST1234' };
    expect(await failure(createNodes(token, ghost))).toMatchObject({ code: 7 });
    await createNodes(token, { uuid: NODE.uuid, serialnum: NODE.serialnum, macId: NODE.macId });
  });
});

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

test('S-13: recovery keys are never replaced, and none is taken of a node that lost its trust', async () => {
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64) },
  });
  const { id } = await register({ uuid: NODE.uuid, autoOnboard: true, profile: 'edge' });
  await running.knock();
  const { DatabaseSync } = await import('node:sqlite');
  using database = new DatabaseSync(`${running.folder}/kindling.sqlite`, { readOnly: true });
  const keyOf = () => database.prepare('SELECT first_boot_key AS key FROM instances').get()?.['key'];
  await expect.poll(keyOf).toBeTypeOf('string');
  const escrow = (recoveryKey: string) =>
    running.api('POST', `/api/v1/recovery-keys/${String(keyOf())}`, {
      json: { keyId: '0123456789abcdef', recoveryKey, disk: {} },
      token: null,
    });
  expect((await escrow('the right key')).status).toBe(200);
  await escrow('another key');
  const { keys } = (await running.api('GET', `/api/v1/nodes/${id}/recovery-keys`)).body;
  expect(keys.map(({ recoveryKey }: { recoveryKey: string }) => recoveryKey)).toEqual(['the right key']);
  await running.api('POST', `/api/v1/nodes/${id}/deauthorise`);
  expect((await escrow('a late key')).status).toBe(404);
});

test('S-14: one wrong serial locks nobody out', async () => {
  await register({ uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true });
  expect((await running.knock({ serialnum: 'WRONG1234' })).status?.code).toBe(5);
  expect((await running.knock()).status?.code).toBe(0);
  expect((await running.knock({ serialnum: 'WRONG1234' })).status?.code).toBe(5);
  expect((await running.knock()).status?.code, 'while it is being installed').toBe(0);
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
