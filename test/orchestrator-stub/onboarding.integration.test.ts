import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  InteractiveOnboardingService,
  OnboardNodeStreamResponse_NodeState as NodeState,
  NonInteractiveOnboardingService,
  OnboardNodeStreamRequestSchema,
  type OnboardNodeStreamResponse,
} from '../../protocol/generated/onboarding_pb.js';
import { callUnary, openBidiStream } from '../../protocol/grpc-service.ts';
import { failure, NODE, RunningStub } from './running-stub.ts';

const PERSON = { name: 'ada', password: 'correct horse' };
let secure: RunningStub;
let strict: RunningStub;
let counter = 0;
let node: typeof NODE;

beforeAll(async () => {
  secure = await RunningStub.start({ port: 0, plainPort: false, user: PERSON });
  strict = await RunningStub.start({ isStrict: true, user: PERSON });
});

afterAll(async () => {
  await secure[Symbol.asyncDispose]();
  await strict[Symbol.asyncDispose]();
});

/** Every test has a machine of its own. */
beforeEach(() => {
  const number = String(++counter).padStart(4, '0');
  node = {
    ...NODE,
    uuid: `6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3${number}`,
    serialnum: `SER${number}X`,
    macId: `52:54:00:12:${number.slice(0, 2)}:${number.slice(2)}`,
  };
});

const register = (stub: RunningStub, extra = {}) =>
  stub.api('POST', '/api/v1/nodes', { json: { uuid: node.uuid, serial: node.serialnum, ...extra } });
const nodeOf = async (stub: RunningStub) => (await stub.api('GET', `/api/v1/nodes/${node.uuid}`)).body;

async function personToken(stub: RunningStub): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'password',
    client_id: 'system-client',
    username: PERSON.name,
    password: PERSON.password,
    scope: 'openid',
  });
  return (await stub.grant(form)).body.access_token;
}

describe('the onboarding stream over TLS, which asks for no token', () => {
  test('row: REGISTERED, then ONBOARDED on the same stream once the operator says so', async () => {
    await register(secure);
    const call = openBidiStream(secure.client(), NonInteractiveOnboardingService.method.onboardNodeStream);
    const answers: OnboardNodeStreamResponse[] = [];
    const ended = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    call.on('data', (answer: OnboardNodeStreamResponse) => {
      answers.push(answer);
      first.resolve();
    });
    call.on('end', ended.resolve);
    call.write(create(OnboardNodeStreamRequestSchema, node));
    await first.promise;
    expect(answers[0]).toMatchObject({
      nodeState: NodeState.REGISTERED,
      projectId: secure.stub.projectId,
      clientId: '',
      status: { code: 0 },
    });
    expect(await nodeOf(secure)).toMatchObject({ currentState: 'REGISTERED', ip: node.hostIp });
    await secure.api('POST', `/api/v1/nodes/${node.uuid}/onboard`);
    call.write(create(OnboardNodeStreamRequestSchema, node));
    await ended.promise;
    expect(answers[1]).toMatchObject({
      nodeState: NodeState.ONBOARDED,
      clientId: `edgenode-${node.uuid}`,
      projectId: secure.stub.projectId,
    });
    expect(answers[1]?.clientSecret).toMatch(/^.{20,}$/);
    expect(await nodeOf(secure)).toMatchObject({
      currentState: 'ONBOARDED',
      status: 'Onboarded, waiting for a profile',
    });
  });

  test('trap 2: an unknown node gets 5 in-band, the stream stays open, the RPC ends OK when the client half-closes', async () => {
    const call = openBidiStream(secure.client(), NonInteractiveOnboardingService.method.onboardNodeStream);
    const answered = Promise.withResolvers<OnboardNodeStreamResponse>();
    const over = Promise.withResolvers<number>();
    call.on('data', answered.resolve);
    call.on('status', ({ code }) => over.resolve(code));
    call.write(create(OnboardNodeStreamRequestSchema, node));
    expect((await answered.promise).status).toMatchObject({ code: 5, message: 'Device not found' });
    call.end();
    expect(await over.promise).toBe(status.OK);
  });

  test('knocks that come in one go are answered one after the other, and all before the stream ends', async () => {
    await register(secure);
    const call = openBidiStream(secure.client(), NonInteractiveOnboardingService.method.onboardNodeStream);
    const states: NodeState[] = [];
    const over = Promise.withResolvers<number>();
    call.on('data', ({ nodeState }: OnboardNodeStreamResponse) => states.push(nodeState));
    call.on('status', ({ code }) => over.resolve(code));
    const stranger = { ...node, uuid: '00000000-0000-4000-8000-000000000000', serialnum: 'NOBODY1' };
    for (const each of [node, stranger, node]) call.write(create(OnboardNodeStreamRequestSchema, each));
    call.end();
    expect(await over.promise).toBe(status.OK);
    expect(states).toEqual([NodeState.REGISTERED, NodeState.UNSPECIFIED, NodeState.REGISTERED]);
  });

  test('a machine that only showed itself is still “not found”, so that a person may sign in', async () => {
    await secure.api('POST', '/api/v1/discovery', {
      json: { identity: { uuid: node.uuid, macs: [node.macId], nodeId: 'x' } },
      token: null,
    });
    expect((await secure.knock(node)).status).toMatchObject({ code: 5 });
  });

  test('trap 1: a bad UUID gets 3 in-band, the stream ends, the RPC is OK', async () => {
    const answer = await secure.knock({ ...node, uuid: 'nonsense' });
    expect(answer).toMatchObject({
      status: { code: 3 },
      nodeState: NodeState.UNSPECIFIED,
      isStreamOpen: false,
    });
  });

  test('trap 17: registered in upper case, reported in lower', async () => {
    await register(secure, { uuid: node.uuid.toUpperCase(), autoOnboard: true });
    expect((await secure.knock(node)).nodeState).toBe(NodeState.ONBOARDED);
  });

  test('a mismatch is shown, corrected without deleting, and then lets the node in', async () => {
    await register(secure, { serial: 'WRONG1234', autoOnboard: true });
    expect((await secure.knock(node)).status).toMatchObject({ code: 5 });
    const shown = await nodeOf(secure);
    expect(shown.registrationStatus).toMatchObject({
      indicator: 'ERROR',
      text: expect.stringContaining(node.serialnum),
    });
    expect(shown.status).toContain('mismatch of Serial Number');
    await secure.api('PATCH', `/api/v1/nodes/${node.uuid}`, { json: { serial: node.serialnum } });
    expect((await secure.knock(node)).nodeState).toBe(NodeState.ONBOARDED);
  });

  // one whose system runs is refused: first-boot.integration.test.ts
  test('after a power cut an onboarded node gets the same credentials', async () => {
    await register(secure, { autoOnboard: true });
    const first = await secure.knock(node);
    const again = await secure.knock(node);
    expect(again.clientSecret).toBe(first.clientSecret);
    expect(again.nodeState).toBe(NodeState.ONBOARDED);
  });

  test('registered by MAC alone, with dashes', async () => {
    await secure.api('POST', '/api/v1/nodes', {
      json: { mac: node.macId.replaceAll(':', '-').toUpperCase(), autoOnboard: true },
    });
    expect((await secure.knock(node)).nodeState).toBe(NodeState.ONBOARDED);
    expect(await nodeOf(secure)).toMatchObject({ uuid: node.uuid, serial: node.serialnum });
  });

  test('deleting a node revokes its credentials', async () => {
    await register(secure, { autoOnboard: true });
    const client = await secure.knock(node);
    expect(await secure.accessToken(client)).toMatch(/^ey/);
    await secure.api('DELETE', `/api/v1/nodes/${node.uuid}`);
    const refused = await secure.grant(
      new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
      }),
    );
    expect(refused).toMatchObject({ status: 401, body: { error: 'unauthorized_client' } });
    expect((await secure.knock(node)).status).toMatchObject({ code: 5 });
  });
});

test('row: by the letter, an onboarded node is refused for ever', async () => {
  await register(strict, { autoOnboard: true });
  await strict.knock(node);
  expect(await strict.knock(node)).toMatchObject({
    status: { code: 9, message: 'Node is already HOST_STATE_ONBOARDED' },
    isStreamOpen: false,
  });
});

test('a site may let in everyone who knocks', async () => {
  await strict.api('PATCH', '/api/v1/site', { json: { acceptUnregistered: true } });
  expect((await strict.knock(node)).nodeState).toBe(NodeState.ONBOARDED);
  await strict.api('PATCH', '/api/v1/site', { json: { acceptUnregistered: false } });
});

describe('the interactive call (docs/background/emf.md#interactive-onboarding)', () => {
  const createNodes = (stub: RunningStub, headers: Record<string, string>, change = {}) =>
    callUnary(
      stub.client(),
      InteractiveOnboardingService.method.createNodes,
      {
        payload: [
          {
            hwdata: [
              {
                uuid: node.uuid,
                serialnum: node.serialnum,
                macId: node.macId,
                sutIp: node.hostIp,
                ...change,
              },
            ],
          },
        ],
      },
      { headers },
    );

  test('row: CreateNodes without a token that belongs to somebody → UNAUTHENTICATED', async () => {
    expect(await failure(createNodes(secure, {}))).toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await failure(createNodes(secure, { authorization: 'Bearer nonsense' }))).toMatchObject({
      code: status.UNAUTHENTICATED,
    });
  });

  test('row: CreateNodes of an unknown UUID → host ONBOARDED, payload and project', async () => {
    const headers = { authorization: `Bearer ${await personToken(secure)}` };
    const answer = await createNodes(secure, headers);
    expect(answer.projectId).toBe(secure.stub.projectId);
    expect(answer.payload[0]?.hwdata[0]?.uuid).toBe(node.uuid);
    expect(await nodeOf(secure)).toMatchObject({
      currentState: 'ONBOARDED',
      serial: node.serialnum,
      mac: node.macId,
    });
  });

  test('trap 3: by the letter, the first answer about a new UUID has an empty project', async () => {
    expect((await createNodes(strict, {})).projectId).toBe('');
    expect((await createNodes(strict, {})).projectId).toBe(strict.stub.projectId);
  });

  test('row: CreateNodes of a known UUID and serial → nothing is updated, OK with the project', async () => {
    const headers = { authorization: `Bearer ${await personToken(secure)}` };
    await createNodes(secure, headers);
    const before = await nodeOf(secure);
    expect((await createNodes(secure, headers)).projectId).toBe(secure.stub.projectId);
    expect(await nodeOf(secure)).toEqual(before);
  });

  test('row: CreateNodes with another serial → overwritten', async () => {
    const headers = { authorization: `Bearer ${await personToken(secure)}` };
    await register(secure);
    await createNodes(secure, headers, { serialnum: 'NEWER1234' });
    expect(await nodeOf(secure)).toMatchObject({
      serial: 'NEWER1234',
      currentState: 'ONBOARDED',
      registrationStatus: { text: 'Unknown' },
    });
  });

  test('row: CreateNodes with an invalid serial → N/A; with any other fault → UNKNOWN with the validator’s path', async () => {
    const headers = { authorization: `Bearer ${await personToken(secure)}` };
    await createNodes(secure, headers, { serialnum: 'Default string' });
    expect(await nodeOf(secure)).toMatchObject({ serial: 'N/A' });
    const refused = await failure(createNodes(secure, headers, { uuid: 'x' }));
    expect(refused.code).toBe(status.UNKNOWN);
    expect(refused.details).toBe(
      'invalid CreateNodesRequest.Payload[0]: embedded message failed validation | caused by: invalid NodeData.Hwdata[0]: embedded message failed validation | caused by: invalid HwData.Uuid: value must be a valid UUID | caused by: invalid uuid format',
    );
  });

  test('row: CreateNodes with an empty payload, where EMF crashes → INVALID_ARGUMENT', async () => {
    const headers = { authorization: `Bearer ${await personToken(secure)}` };
    const call = callUnary(
      secure.client(),
      InteractiveOnboardingService.method.createNodes,
      { payload: [] },
      { headers },
    );
    expect(await failure(call)).toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  test('row: CreateNodes for a project the token has no role in → PERMISSION_DENIED', async () => {
    const headers = {
      authorization: `Bearer ${await personToken(secure)}`,
      activeprojectid: '11111111-2222-3333-4444-555555555555',
    };
    expect(await failure(createNodes(secure, headers))).toEqual({
      code: status.PERMISSION_DENIED,
      details: 'Request is blocked by RBAC',
    });
  });
});
