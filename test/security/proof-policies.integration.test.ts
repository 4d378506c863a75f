import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { leftovers } from '../../lab/qemu/processes.ts';
import { SoftwareTpm } from '../../lab/tpm/software-tpm.ts';
import { InteractiveOnboardingService } from '../../protocol/generated/onboarding_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { makeNodeKey } from '../../protocol/sealed-secret.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';
import { certifyTpm, keepEndorsementKey } from './certified-tpm.ts';
import { hasNoSecret, machineWith, onboardAgent } from './proof-lab.ts';

const PERSON = { name: 'ada', password: 'correct horse' };
const PROVING = { osType: 'IMMUTABLE', imageUrl: 'http://127.0.0.1/x.raw', proof: 'required' };

/** A TPM with a certificate of a maker whom the site knows, one without, and a site. */
let certified: SoftwareTpm;
let plain: SoftwareTpm;
let running: RunningStub;

beforeAll(async () => {
  certified = await SoftwareTpm.start();
  plain = await SoftwareTpm.start();
  for (const tpm of [certified, plain]) await keepEndorsementKey(tpm);
  const maker = await certifyTpm(certified);
  running = await RunningStub.start({ port: 0, plainPort: false, user: PERSON });
  await running.restart({}, async () => {
    mkdirSync(join(running.folder, 'ek-ca'), { recursive: true });
    writeFileSync(join(running.folder, 'ek-ca', 'maker.pem'), maker);
  });
  await running.api('PUT', '/api/v1/profiles/proving', { json: PROVING });
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await certified[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
  expect(leftovers()).toEqual([]);
});
beforeEach(async () => {
  const { nodes } = (await running.api('GET', '/api/v1/nodes')).body;
  for (const { id } of nodes) await running.api('DELETE', `/api/v1/nodes/${id}`);
  await running.api('POST', '/api/v1/nodes', {
    json: { name: 'till', uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
});

const till = async () => (await running.api('GET', '/api/v1/nodes/till')).body;
const site = (json: object) => running.api('PATCH', '/api/v1/site', { json });
const correct = (json: object) => running.api('PATCH', '/api/v1/nodes/till', { json });

test('with approval a machine without a TPM waits with a code for this boot, is shown as unproven, and asks again at the next', async () => {
  await site({ proof: 'when-possible', proofTrust: 'approval' });
  const bare = machineWith(undefined);
  const boot = makeNodeKey();
  const approve = (code: string) => running.api('POST', '/api/v1/nodes/till/approve', { json: { code } });

  const shown = Promise.withResolvers<string>();
  const waiting = onboardAgent(running, bare, { onApprovalCode: shown.resolve, nodeKey: boot });
  expect((await approve(await shown.promise)).status).toBe(200);
  await expect(waiting).resolves.toMatchObject({ kind: 'onboarded' });
  expect(await till()).toMatchObject({ ekHash: null, proven: null });
  await expect(onboardAgent(running, bare, { nodeKey: boot })).resolves.toMatchObject({ kind: 'onboarded' });

  // Another boot, or another machine: nobody has approved it.
  const stop = new AbortController();
  const asked = Promise.withResolvers<string>();
  const again = onboardAgent(running, bare, { onApprovalCode: asked.resolve, signal: stop.signal });
  const refusal = expect(again).rejects.toThrow();
  await asked.promise;
  stop.abort();
  await refusal;
  // Nor can who pretends to be EMF's client, which shows no code.
  expect(hasNoSecret(await running.knock())).toBe(true);

  // A profile refuses machines without a TPM, whatever was approved.
  await correct({ profile: 'proving' });
  await expect(onboardAgent(running, bare, { nodeKey: boot })).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_NO_TPM'),
  });
});

test('a profile asks for the proof where the site does not, and a node may say otherwise', async () => {
  await site({ proof: 'off', proofTrust: 'first-use' });
  await correct({ profile: 'proving' });
  expect(hasNoSecret(await running.knock())).toBe(true);
  await correct({ proof: 'off' });
  expect(await running.knock()).toMatchObject({ nodeState: 2, clientSecret: expect.stringMatching(/.{20}/) });
  await correct({ proof: 'required' });
  await expect(onboardAgent(running, machineWith(certified))).resolves.toMatchObject({ kind: 'onboarded' });
});

test('a person who signs in at the console opens no way around the proof', async () => {
  await site({ proof: 'required', proofTrust: 'first-use' });
  const form = { grant_type: 'password', client_id: 'system-client', username: PERSON.name };
  const signIn = await running.grant(new URLSearchParams({ ...form, password: PERSON.password }));
  const headers = { authorization: `Bearer ${signIn.body.access_token}` };
  const { uuid, serialnum, macId, hostIp } = NODE;
  const hwdata = [{ uuid, serialnum, macId, sutIp: hostIp }];
  const create = () =>
    callUnary(
      running.client(),
      InteractiveOnboardingService.method.createNodes,
      { payload: [{ hwdata }] },
      { headers },
    );
  await expect(create()).rejects.toThrow('KND_PROOF_REQUIRED');
  expect((await till()).currentState).not.toBe('ONBOARDED');
  await correct({ proof: 'off' });
  await create();
  expect((await till()).currentState).toBe('ONBOARDED');
});

test('with the CAs of makers a certified TPM comes in, and one without a certificate does not', async () => {
  await site({ proof: 'required', proofTrust: 'vendor-ca' });
  await expect(onboardAgent(running, machineWith(plain))).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_UNTRUSTED'),
  });
  await expect(onboardAgent(running, machineWith(certified))).resolves.toMatchObject({ kind: 'onboarded' });
  expect(await till()).toMatchObject({ proven: { certifiedBy: 'CN=Maker Root' } });
});
