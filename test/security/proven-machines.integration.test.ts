import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { MachineProver, type ProofMessage } from '../../agent/onboarding/prove-machine.ts';
import { EVENT } from '../../formats/tpm/event-log.ts';
import { sized, u16 } from '../../formats/tpm/fields.ts';
import { ALGORITHM, ATTRIBUTE } from '../../formats/tpm/numbers.ts';
import { decodePublicArea, encodePublicArea } from '../../formats/tpm/public-area.ts';
import { leftovers } from '../../lab/qemu/processes.ts';
import { SoftwareTpm } from '../../lab/tpm/software-tpm.ts';
import {
  type MachineProof,
  MachineProofSchema,
  type OnboardNodeStreamResponse,
  type ProofChallenge,
  type ProofEvidence,
  type ProofWant,
} from '../../protocol/generated/onboarding_pb.js';
import { makeNodeKey } from '../../protocol/sealed-secret.ts';
import { eventLog } from '../formats/tpm/logged.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';
import { keepEndorsementKey } from './certified-tpm.ts';
import { Conversation, FACTS, hasNoSecret, machineWith, onboardAgent } from './proof-lab.ts';

/** The node's machine and a stranger's, each with a TPM of its own: both know the node's UUID and serial. */
let own: SoftwareTpm;
let foreign: SoftwareTpm;
let running: RunningStub;

beforeAll(async () => {
  running = await RunningStub.start({ port: 0, plainPort: false });
  own = await SoftwareTpm.start();
  foreign = await SoftwareTpm.start();
  for (const tpm of [own, foreign]) await keepEndorsementKey(tpm);
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
  await foreign[Symbol.asyncDispose]();
  expect(leftovers()).toEqual([]);
});
beforeEach(async () => {
  const { nodes } = (await running.api('GET', '/api/v1/nodes')).body;
  for (const { id } of nodes) await running.api('DELETE', `/api/v1/nodes/${id}`);
  await running.api('PATCH', '/api/v1/site', { json: { proof: 'required', proofTrust: 'first-use' } });
  await running.api('POST', '/api/v1/nodes', {
    json: { name: 'till', uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
});

const till = async () => (await running.api('GET', '/api/v1/nodes/till')).body;
const nodeKey = makeNodeKey();
const key = nodeKey.getPublicKey();
const AS = { uuid: FACTS.uuid, serial: FACTS.serial, nodeKey: key };

async function wantOf(conversation: Conversation): Promise<ProofWant> {
  const { proof } = await conversation.say({ nodeKey: key });
  if (proof?.step.case !== 'want') throw new Error('the server asks for no proof');
  return proof.step.value;
}

function challengeOf({ proof }: OnboardNodeStreamResponse): ProofChallenge {
  if (proof?.step.case !== 'challenge') throw new Error('the server gives no challenge');
  return proof.step.value;
}

function evidenceOf(message: ProofMessage): ProofEvidence {
  const { step } = create(MachineProofSchema, message) as MachineProof;
  if (step.case !== 'evidence') throw new Error(`no evidence: ${step.value}`);
  return step.value;
}

/** Real evidence of a real TPM, changed by the stranger before it is sent; the server’s answer. */
async function sendChanged(
  change: (evidence: ProofEvidence) => ProofEvidence,
): Promise<OnboardNodeStreamResponse> {
  const conversation = new Conversation(running);
  await using prover = new MachineProver(machineWith(own), AS);
  const evidence = evidenceOf(await prover.showEvidence(await wantOf(conversation)));
  return conversation.say({ nodeKey: key, proof: { step: { case: 'evidence', value: change(evidence) } } });
}

const refused = (code: string) => ({
  status: { code: 9, message: expect.stringMatching(`^${code}: `) },
  clientSecret: '',
  clientId: '',
});

test('the machine is let in by its TPM, and after a reboot again; its secret is for this TPM alone', async () => {
  const first = await onboardAgent(running, machineWith(own));
  expect(first).toMatchObject({ kind: 'onboarded', clientSecret: expect.stringMatching(/.{20}/) });
  expect(await till()).toMatchObject({
    ekHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    proven: { certifiedBy: null },
  });
  const again = await onboardAgent(running, machineWith(own));
  expect(again).toMatchObject({ kind: 'onboarded' });
});

test('a clone with the same UUID and serial and another TPM gets nothing, and raises an alarm', async () => {
  await onboardAgent(running, machineWith(own));
  const { ekHash } = await till();
  await expect(onboardAgent(running, machineWith(foreign))).rejects.toMatchObject({
    code: 'KND_ONBOARD_REFUSED',
    message: expect.stringContaining('KND_PROOF_SECOND_TPM'),
  });
  expect(await till()).toMatchObject({
    ekHash,
    onboardingStatus: { indicator: 'ERROR', text: expect.stringMatching(/^KND_PROOF_SECOND_TPM: /) },
  });
  await expect(onboardAgent(running, machineWith(own))).resolves.toMatchObject({ kind: 'onboarded' });
});

test('one TPM is one node: a second node of the same machine is refused', async () => {
  await onboardAgent(running, machineWith(own));
  const other = '11111111-2222-4333-8444-555555555555';
  await running.api('POST', '/api/v1/nodes', {
    json: { name: 'other', uuid: other, serial: 'OTHER1', autoOnboard: true },
  });
  const conversation = new Conversation(running);
  const asOther = { uuid: other, serialnum: 'OTHER1', macId: '52:54:00:00:00:02', nodeKey: key };
  const { proof } = await conversation.say(asOther);
  if (proof?.step.case !== 'want') throw new Error('no want');
  await using prover = new MachineProver(machineWith(own), { uuid: other, serial: 'OTHER1', nodeKey: key });
  const challenge = await conversation.say({
    ...asOther,
    proof: await prover.showEvidence(proof.step.value),
  });
  const answer = await conversation.say({ ...asOther, proof: await prover.answer(challengeOf(challenge)) });
  expect(answer).toMatchObject(refused('KND_PROOF_SECOND_TPM'));
});

test('a key made in software is no attestation key: nobody can answer the challenge for it', async () => {
  const software = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = software.publicKey.export({ format: 'jwk' });
  const conversation = new Conversation(running);
  await using prover = new MachineProver(machineWith(own), AS);
  const want = await wantOf(conversation);
  const evidence = evidenceOf(await prover.showEvidence(want));
  const area = decodePublicArea(evidence.akPublic);
  if (area.key.kind !== 'ecc') throw new Error('not ECC');
  const ak = {
    ...area,
    key: { ...area.key, x: Buffer.from(x, 'base64url'), y: Buffer.from(y, 'base64url') },
  };
  const raw = sign('sha256', evidence.quote, { key: software.privateKey, dsaEncoding: 'ieee-p1363' });
  const signature = Buffer.concat([
    ...[u16(ALGORITHM.ecdsa), u16(ALGORITHM.sha256)],
    ...[sized(raw.subarray(0, 32)), sized(raw.subarray(32))],
  ]);
  const forged = { ...evidence, akPublic: encodePublicArea(ak), signature };
  const answer = await conversation.say({
    nodeKey: key,
    proof: { step: { case: 'evidence', value: forged } },
  });
  // The real TPM does not open what was made for a key that it does not hold.
  expect(await prover.answer(challengeOf(answer))).toMatchObject({ step: { case: 'unable' } });
  const guess = { step: { case: 'answer' as const, value: randomBytes(32) } };
  expect(await conversation.say({ nodeKey: key, proof: guess })).toMatchObject(refused('KND_PROOF_ANSWER'));
});

test.each([
  ['restricted', ATTRIBUTE.restricted],
  ['fixedTPM', ATTRIBUTE.fixedTpm],
  ['sensitiveDataOrigin', ATTRIBUTE.sensitiveDataOrigin],
] as const)('an attestation key that is not %s is refused', async (_name, bit) => {
  const answer = await sendChanged((evidence) => {
    const area = decodePublicArea(evidence.akPublic);
    return { ...evidence, akPublic: encodePublicArea({ ...area, attributes: area.attributes & ~bit }) };
  });
  expect(answer).toMatchObject(refused('KND_PROOF_KEY'));
});

test('a quote of an earlier stream is refused on a new one', async () => {
  const earlier = new Conversation(running);
  await using prover = new MachineProver(machineWith(own), AS);
  const overheard = evidenceOf(await prover.showEvidence(await wantOf(earlier)));
  earlier.end();
  const conversation = new Conversation(running);
  await wantOf(conversation);
  const answer = await conversation.say({
    nodeKey: key,
    proof: { step: { case: 'evidence', value: overheard } },
  });
  expect(answer).toMatchObject(refused('KND_PROOF_QUOTE'));
});

test('evidence is taken once, and only when it was asked for', async () => {
  const conversation = new Conversation(running);
  await using prover = new MachineProver(machineWith(own), AS);
  const value = evidenceOf(await prover.showEvidence(await wantOf(conversation)));
  const proof = { step: { case: 'evidence' as const, value } };
  challengeOf(await conversation.say({ nodeKey: key, proof }));
  expect(await conversation.say({ nodeKey: key, proof })).toMatchObject(refused('KND_PROOF_QUOTE'));
  const unasked = new Conversation(running);
  expect(await unasked.say({ nodeKey: key, proof })).toMatchObject(refused('KND_PROOF_QUOTE'));
});

test('an endorsement key that was swapped for that of another TPM opens nothing', async () => {
  await onboardAgent(running, machineWith(own));
  // The stranger shows the node's endorsement key with its own attestation key and quote.
  const conversation = new Conversation(running);
  const want = await wantOf(conversation);
  await using real = new MachineProver(machineWith(own), AS);
  const { ekPublic } = evidenceOf(await real.showEvidence(want));
  await using stranger = new MachineProver(machineWith(foreign), AS);
  const evidence = { ...evidenceOf(await stranger.showEvidence(want)), ekPublic };
  const answer = await conversation.say({
    nodeKey: key,
    proof: { step: { case: 'evidence', value: evidence } },
  });
  const opened = await stranger.answer(challengeOf(answer));
  expect(opened).toMatchObject({ step: { case: 'unable' } });
  const refusal = await conversation.say({ nodeKey: key, proof: opened });
  expect(refusal).toMatchObject(refused('KND_PROOF_NO_TPM'));
});

test('a stranger in between who puts in a key of its own gets no answer that counts', async () => {
  const conversation = new Conversation(running);
  const strangersKey = makeNodeKey().getPublicKey();
  const { proof } = await conversation.say({ nodeKey: strangersKey });
  if (proof?.step.case !== 'want') throw new Error('no want');
  // The real machine answers everything, as itself.
  await using real = new MachineProver(machineWith(own), AS);
  const shown = await real.showEvidence(proof.step.value);
  const challenge = await conversation.say({ nodeKey: strangersKey, proof: shown });
  const answer = await conversation.say({
    nodeKey: strangersKey,
    proof: await real.answer(challengeOf(challenge)),
  });
  expect(answer).toMatchObject(refused('KND_PROOF_ANSWER'));
});

test('registers that the TPM did not sign are refused', async () => {
  const answer = await sendChanged((evidence) => ({
    ...evidence,
    pcrValues: evidence.pcrValues.map((value, pcr) => (pcr === 4 ? randomBytes(32) : value)),
  }));
  expect(answer).toMatchObject(refused('KND_PROOF_QUOTE'));
});

test('EMF’s own client waits where a proof is required, and never sees a secret', async () => {
  const conversation = new Conversation(running);
  for (let asked = 0; asked < 3; asked += 1) {
    const answer = await conversation.say({});
    expect(answer).toMatchObject({ status: { code: 0 }, nodeState: 1 });
    expect(hasNoSecret(answer)).toBe(true);
  }
  expect((await till()).status).toBe('Waiting for a TPM proof, which this agent has not offered');
  await running.api('PATCH', '/api/v1/nodes/till', { json: { proof: 'off' } });
  expect(await conversation.say({})).toMatchObject({
    nodeState: 2,
    clientSecret: expect.stringMatching(/.{20}/),
  });
});

test('where a proof is wanted when possible, EMF’s client comes in at once; a node that has proven itself never again without', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { proof: 'when-possible' } });
  expect(await running.knock()).toMatchObject({ nodeState: 2, clientSecret: expect.stringMatching(/.{20}/) });
  expect(await till()).toMatchObject({ proven: null });
  await expect(onboardAgent(running, machineWith(own))).resolves.toMatchObject({ kind: 'onboarded' });
  expect((await till()).proven).not.toBeNull();
  const downgraded = await running.knock();
  expect(hasNoSecret(downgraded)).toBe(true);
  await expect(onboardAgent(running, machineWith(undefined))).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_NO_TPM'),
  });
});

test('a machine without a TPM is let in unproven when possible, and refused with a next step where required', async () => {
  await expect(onboardAgent(running, machineWith(undefined))).rejects.toMatchObject({
    code: 'KND_ONBOARD_REFUSED',
    message: expect.stringContaining('KND_PROOF_NO_TPM'),
  });
  expect((await till()).status).toMatch(/^KND_PROOF_NO_TPM: .*this machine shows no TPM 2.0/);
  await running.api('PATCH', '/api/v1/site', { json: { proof: 'when-possible' } });
  await expect(onboardAgent(running, machineWith(undefined))).resolves.toMatchObject({ kind: 'onboarded' });
  expect(await till()).toMatchObject({ ekHash: null, proven: null });
});

test('the token of another node opens nothing of a proven one', async () => {
  await onboardAgent(running, machineWith(own));
  await running.api('POST', '/api/v1/nodes', {
    json: {
      name: 'thief',
      uuid: '99999999-2222-4333-8444-555555555555',
      serial: 'THIEF1',
      autoOnboard: true,
      proof: 'off',
    },
  });
  const stolen = await running.knock({
    uuid: '99999999-2222-4333-8444-555555555555',
    serialnum: 'THIEF1',
    macId: '52:54:00:00:00:09',
  });
  const token = await running.accessToken(stolen);
  expect((await running.api('GET', '/api/v1/nodes/till', { token })).status).toBe(403);
  expect(
    (await running.api('POST', '/api/v1/nodes/till/approve', { token, json: { code: '123456' } })).status,
  ).toBe(403);
});

test('an event log that was changed is refused, and the event is named to the operator', async () => {
  const honest = { pcr: 4, type: EVENT.separator, data: Buffer.alloc(4) };
  const changed = { ...honest, data: Buffer.from('off!'), measured: honest.data };
  await expect(onboardAgent(running, machineWith(own, eventLog([changed])))).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_LOG'),
  });
  expect((await till()).status).toMatch(/^KND_PROOF_LOG: event 0 of the log \(separator in PCR 4\)/);
  // Consistent in itself, and yet not what the TPM has measured.
  await expect(onboardAgent(running, machineWith(own, eventLog([honest])))).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_LOG'),
  });
  expect((await till()).status).toMatch(/does not give PCR 4 .* first event 0 \(separator in PCR 4\)/);
});

test('with approval the machine waits with a code; who types it lets in that TPM and no other', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { proofTrust: 'approval' } });
  const shown = Promise.withResolvers<string>();
  const waiting = onboardAgent(running, machineWith(own), { onApprovalCode: shown.resolve });
  const code = await shown.promise;
  const wrong = code === '000000' ? '000001' : '000000';
  expect(
    (await running.api('POST', '/api/v1/nodes/till/approve', { json: { code: wrong } })).body,
  ).toMatchObject({
    code: 'KND_PROOF_CODE',
  });
  expect((await running.api('POST', '/api/v1/nodes/till/approve', { json: { code } })).status).toBe(200);
  await expect(waiting).resolves.toMatchObject({ kind: 'onboarded' });
  await expect(onboardAgent(running, machineWith(foreign))).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_SECOND_TPM'),
  });
});

test('with a list of hashes only the registered TPM comes in', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { proofTrust: 'listed' } });
  await expect(onboardAgent(running, machineWith(own))).rejects.toMatchObject({
    message: expect.stringContaining('KND_PROOF_UNTRUSTED'),
  });
  const [, hash] = /\(([0-9a-f]{64})\)/.exec((await till()).status) ?? [];
  await running.api('PATCH', '/api/v1/nodes/till', { json: { ekHash: hash } });
  await expect(onboardAgent(running, machineWith(own))).resolves.toMatchObject({ kind: 'onboarded' });
});
