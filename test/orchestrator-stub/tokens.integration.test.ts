import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE, RunningStub } from './running-stub.ts';

const PERSON = { name: 'ada', password: 'correct horse' };
let running: RunningStub;
let client: { clientId: string; clientSecret: string };

beforeAll(async () => {
  running = await RunningStub.start({ user: PERSON, auth: 'required', releaseToken: 'signed' });
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
  client = await running.knock();
});

afterAll(() => running[Symbol.asyncDispose]());

const form = (fields: Record<string, string>) => running.grant(new URLSearchParams(fields));
const password = (fields = {}) =>
  form({
    grant_type: 'password',
    client_id: 'system-client',
    username: PERSON.name,
    password: PERSON.password,
    scope: 'openid',
    ...fields,
  });

test('row: client_credentials → a client’s token has EMF’s life and roles and verifies against the published keys', async () => {
  const token = await running.accessToken(client);
  const keys = createRemoteJWKSet(
    new URL('/realms/master/protocol/openid-connect/certs', running.stub.urls.http),
  );
  const { payload } = await jwtVerify(token, keys, { issuer: `${running.stub.urls.http}/realms/master` });
  expect(payload.exp && payload.iat && payload.exp - payload.iat).toBe(3600);
  expect(payload['realm_access']).toEqual({
    roles: expect.arrayContaining([`${running.stub.projectId}_en-agent-rw`, 'rs-access-r']),
  });
});

test('row: client_credentials with HTTP Basic → the same token', async () => {
  const answer = await fetch(
    new URL('/realms/master/protocol/openid-connect/token', running.stub.urls.http),
    {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    },
  );
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ token_type: 'Bearer' });
});

test('row: password → a person’s token carries the onboarding role, and can be renewed without the password', async () => {
  const { status, body } = await password();
  expect(status).toBe(200);
  expect(decodeJwt(body.access_token)['realm_access']).toMatchObject({
    roles: expect.arrayContaining([`${running.stub.projectId}_en-ob`]),
  });
  const renewed = await form({
    grant_type: 'refresh_token',
    client_id: 'system-client',
    refresh_token: body.refresh_token,
  });
  expect(renewed.status).toBe(200);
  expect(decodeJwt(renewed.body.access_token)['preferred_username']).toBe(PERSON.name);
  const misused = await form({
    grant_type: 'refresh_token',
    client_id: 'system-client',
    refresh_token: body.access_token,
  });
  expect(misused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test.each([
  [
    { grant_type: 'client_credentials', client_id: 'edgenode-x', client_secret: 'y' },
    401,
    'unauthorized_client',
  ],
  [
    { grant_type: 'password', client_id: 'system-client', username: 'ada', password: 'wrong' },
    401,
    'invalid_grant',
  ],
  [
    { grant_type: 'password', client_id: 'system-client', username: "' OR 1=1 --", password: 'x' },
    401,
    'invalid_grant',
  ],
  [
    { grant_type: 'password', client_id: 'other', username: 'ada', password: 'correct horse' },
    401,
    'invalid_client',
  ],
  [{ grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
  [{ grant_type: 'telepathy' }, 400, 'unsupported_grant_type'],
  [{}, 400, 'invalid_request'],
])('row: %o → %i %s', async (fields, status, error) => {
  expect(await form(fields as Record<string, string>)).toMatchObject({ status, body: { error } });
});

test('a token request that is no form is refused', async () => {
  const answer = await running.api('POST', '/realms/master/protocol/openid-connect/token', {
    json: {},
    headers: { 'content-type': 'application/json' },
  });
  expect(answer).toMatchObject({ status: 400, body: { code: 'KND_API_INVALID' } });
});

test('row: release token → in both modes', async () => {
  const token = await running.accessToken(client);
  expect((await running.api('GET', '/token', { token })).text).toMatch(/^ey/);
  expect(await running.api('GET', '/token', { token: 'x' })).toMatchObject({
    status: 401,
    text: 'Invalid token',
  });
  const release = (await running.api('GET', '/token', { token })).text;
  expect(await running.api('GET', '/token', { token: release })).toMatchObject({ status: 401 });
  await using open = await RunningStub.start();
  expect(await open.api('GET', '/token', { token: null })).toMatchObject({ status: 200, text: 'anonymous' });
});

test('the API takes the tokens of people only', async () => {
  expect(await running.api('GET', '/api/v1/nodes', { token: null })).toMatchObject({
    status: 401,
    body: { code: 'KND_API_UNAUTHENTICATED' },
  });
  const node = await running.accessToken(client);
  expect(await running.api('GET', '/api/v1/nodes', { token: node })).toMatchObject({
    status: 403,
    body: { code: 'KND_API_FORBIDDEN' },
  });
  expect(await running.api('GET', '/api/v1/nodes', { token: `${node}x` })).toMatchObject({ status: 401 });
  expect(await running.api('GET', '/api/v1/nodes')).toMatchObject({ status: 200 });
});

test('a token is over when its time is, or when the clock says so', async () => {
  let now = Date.now();
  await using stub = await RunningStub.start({
    auth: 'required',
    now: () => new Date(now),
    tokenLifetimeSeconds: 60,
  });
  await stub.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
  const token = await stub.accessToken(await stub.knock());
  expect(await stub.api('GET', '/api/v1/nodes', { token })).toMatchObject({ status: 403 });
  now += 61_000;
  expect(await stub.api('GET', '/api/v1/nodes', { token })).toMatchObject({ status: 401 });
});
