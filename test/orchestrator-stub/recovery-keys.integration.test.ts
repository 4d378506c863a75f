import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HostTable } from '../../orchestrator-stub/nodes/host-table.ts';
import { type Stub, startStub } from '../../orchestrator-stub/serve.ts';
import { Database } from '../../orchestrator-stub/store/database.ts';
import type { HostId } from '../../protocol/ids.ts';

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

async function call(path: string, json?: unknown, method = 'POST') {
  const response = await fetch(stub.urls.http + path, {
    ...(json === undefined
      ? {}
      : { method, body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const key = (keyId: string) => ({ keyId, recoveryKey: 'cbdefghi-jklnrtuv', disk: { serial: 'S1' } });

test('a recovery key is kept for the operator, under the address that came with the workflow', async () => {
  await call('/api/v1/nodes', { serial: 'ABC12345', name: 'till-7' });
  await call('/api/v1/profiles/p', { osType: 'IMMUTABLE', imageUrl: 'http://127.0.0.1/x.raw' }, 'PUT');
  await call('/api/v1/nodes/till-7/provision', { profile: 'p' });
  const database = new Database(join(folder, 'kindling.sqlite'), {
    onDefect: (thrown) => {
      throw thrown;
    },
  });
  const { id } = (await call('/api/v1/nodes/till-7')).body as { id: HostId };
  const hosts = new HostTable(database);
  const host = hosts.byId(id);
  const address = `/api/v1/recovery-keys/${hosts.instance(id)?.firstBootKey}`;
  expect((await call(address, key('0011223344556677'))).status, 'before it is let in').toBe(404);
  if (host) hosts.save({ ...host, currentState: 'ONBOARDED' });

  expect(await call(address, key('0011223344556677'))).toMatchObject({
    status: 200,
    body: { nodeId: id, keyId: '0011223344556677' },
  });
  await call(address, key('0011223344556677')); // a run after a kill sends the same again
  await call(address, key('8899aabbccddeeff'));
  const { keys } = (await call('/api/v1/nodes/till-7/recovery-keys')).body as { keys: object[] };
  expect(keys).toMatchObject([key('8899aabbccddeeff'), key('0011223344556677')]);

  expect((await call('/api/v1/recovery-keys/guess', key('0011223344556677'))).status).toBe(404);
  expect((await call(address, { keyId: 'x' })).status).toBe(400);
  await call(`/api/v1/first-boot/${new HostTable(database).instance(id)?.firstBootKey}`, {});
  expect((await call(address, key('1111111111111111'))).status).toBe(404);
  database.close();
});
