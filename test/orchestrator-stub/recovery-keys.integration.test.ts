import { afterEach, beforeEach, expect, test } from 'vitest';
import { NODE, RunningStub } from './running-stub.ts';
import { storedDefinitions } from './seal/test-seal.ts';

const PROFILE = {
  osType: 'IMMUTABLE',
  imageUrl: 'http://127.0.0.1/x.raw',
  security: 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION',
};
let running: RunningStub;

beforeEach(async () => {
  running = await RunningStub.start();
  await running.api('PUT', '/api/v1/profiles/p', { json: PROFILE });
});
afterEach(() => running[Symbol.asyncDispose]());

const post = (path: string, json?: unknown) =>
  running.api('POST', path, { token: null, ...(json === undefined ? {} : { json }) });
const key = (keyId: string) => ({ keyId, recoveryKey: 'cbdefghi-jklnrtuv', disk: { serial: 'S1' } });

test('a recovery key is kept for the operator, under the address that came with the workflow', async () => {
  const node = { serial: NODE.serialnum, name: 'till-7', autoOnboard: true, profile: 'p' };
  const { id } = (await running.api('POST', '/api/v1/nodes', { json: node })).body;
  await running.knock();
  const definition = () => JSON.stringify(storedDefinitions(running.folder)[0]);
  await expect.poll(definition).toBeTypeOf('string');
  const address = /\/api\/v1\/recovery-keys\/[0-9a-f]{32}/.exec(String(definition()))?.[0] ?? '';

  expect(await post(address, key('0011223344556677'))).toMatchObject({
    status: 200,
    body: { nodeId: id, keyId: '0011223344556677' },
  });
  await post(address, key('0011223344556677')); // a run after a kill sends the same again
  await post(address, key('8899aabbccddeeff'));
  const { keys } = (await running.api('GET', '/api/v1/nodes/till-7/recovery-keys')).body;
  expect(keys).toMatchObject([key('8899aabbccddeeff'), key('0011223344556677')]);

  expect((await post('/api/v1/recovery-keys/guess', key('0011223344556677'))).status).toBe(404);
  expect((await post(address, { keyId: 'x' })).status).toBe(400);
  await running.api('POST', `/api/v1/workflows/workflow-${NODE.uuid}-g1/cancel`);
  expect((await post(address, key('1111111111111111'))).status, 'the workflow is over').toBe(404);
});
