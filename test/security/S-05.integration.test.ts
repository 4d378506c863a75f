import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeNodeKey, openSecret } from '../../protocol/sealed-secret.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';

let running: RunningStub;
let clock: Date;

beforeEach(async () => {
  clock = new Date();
  running = await RunningStub.start({ port: 0, plainPort: false, now: () => clock });
  await running.api('POST', '/api/v1/nodes', {
    json: { name: 'till', uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
});
afterEach(() => running[Symbol.asyncDispose]());

const onboardingStatus = async () => (await running.api('GET', '/api/v1/nodes/till')).body.onboardingStatus;
const REFUSED = { code: 9, message: 'another machine was let in as this node' };

/** The node boots, is let in, and makes a call with its token. */
async function bootNode() {
  const pair = makeNodeKey();
  const answer = await running.knock({ nodeKey: pair.getPublicKey() });
  const clientSecret = openSecret(answer.sealedSecret, pair) ?? '';
  const token = await running.accessToken({ clientId: answer.clientId, clientSecret });
  const call = () => running.api('GET', '/api/v1/nodes', { token });
  expect((await call()).status).toBe(403); // known, but no operator
  return { pair, clientSecret, call };
}

test('S-05: the secret goes to the holder of the key alone; who repeats UUID, serial and key can read nothing', async () => {
  const { pair, clientSecret } = await bootNode();
  expect(clientSecret).not.toBe('');
  const overheard = await running.knock({ nodeKey: pair.getPublicKey() });
  expect(overheard).toMatchObject({ status: { code: 0 }, clientSecret: '' });
  expect(openSecret(overheard.sealedSecret, makeNodeKey())).toBeUndefined();
});

test('S-05: a second machine gets nothing while the node is there, changes nothing of it, and is told of', async () => {
  const { pair, call } = await bootNode();
  for (const nodeKey of [makeNodeKey().getPublicKey(), new Uint8Array()]) {
    const answer = await running.knock({ nodeKey, macId: '02:66:66:66:66:66', hostIp: '10.6.6.6' });
    expect(answer).toMatchObject({ status: REFUSED, clientSecret: '', clientId: '' });
    expect(answer.sealedSecret).toHaveLength(0);
  }
  expect(await onboardingStatus()).toMatchObject({
    indicator: 'ERROR',
    text: expect.stringMatching(/^A second machine asks for the credentials of this node \(/),
  });
  expect((await running.api('GET', '/api/v1/nodes/till')).body.ip).toBe(NODE.hostIp);
  expect((await call()).status).toBe(403);
  expect((await running.knock({ nodeKey: pair.getPublicKey() })).status).toMatchObject({ code: 0 });
});

test('S-05: a node that was rebooted comes in with a new key, and the operator can see it; never without a key', async () => {
  await bootNode();
  clock = new Date(clock.getTime() + 31_000);
  expect((await running.knock()).status).toMatchObject(REFUSED);
  expect((await running.knock({ nodeKey: makeNodeKey().getPublicKey() })).status).toMatchObject({ code: 0 });
  expect((await onboardingStatus()).text).toMatch(
    /^Onboarded again with another key \(.*, key [0-9A-F-]{19}\)/,
  );
});

test('S-05: with oneKeyPerNode another key is refused however long the first is silent, until the operator says so', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { oneKeyPerNode: true } });
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64) },
  });
  await running.api('POST', '/api/v1/nodes/till/provision', { json: { profile: 'edge' } });
  await bootNode();
  clock = new Date(clock.getTime() + 86_400_000);
  const nodeKey = makeNodeKey().getPublicKey();
  expect((await running.knock({ nodeKey })).status).toMatchObject(REFUSED);
  await running.api('POST', '/api/v1/nodes/till/reprovision', { json: {} });
  expect((await running.knock({ nodeKey })).status).toMatchObject({ code: 0 });
});

test('S-05: with --strict the answer is EMF’s, whatever key is shown', async () => {
  await running.restart({ isStrict: true });
  const answer = await running.knock({ nodeKey: makeNodeKey().getPublicKey() });
  expect(answer).toMatchObject({ status: { code: 0 }, clientSecret: expect.stringMatching(/./) });
  expect(answer.sealedSecret).toHaveLength(0);
});
