import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { InteractiveOnboardingService } from '../../../protocol/generated/onboarding_pb.js';
import { callUnary } from '../../../protocol/grpc-service.ts';
import { failure, NODE, RunningStub } from '../running-stub.ts';

let now: Date;
let running: RunningStub;

beforeEach(async () => {
  now = new Date('2026-11-18T09:00:00Z');
  running = await RunningStub.start({ auth: 'required', now: () => now });
});
afterEach(() => running[Symbol.asyncDispose]());

async function person(name: string, role: string): Promise<string> {
  expect((await running.api('PUT', `/api/v1/users/${name}`, { json: { role } })).status).toBe(200);
  return (await newToken(name)).token;
}
async function newToken(name: string, json = {}): Promise<{ id: string; token: string; expiresAt: string }> {
  const answer = await running.api('POST', `/api/v1/users/${name}/tokens`, { json });
  expect(answer.status).toBe(201);
  return answer.body;
}
const me = (token: string) => running.api('GET', '/api/v1/me', { token });

test('the token in the state folder is the first admin', async () => {
  expect(await me(running.stub.token)).toMatchObject({
    status: 200,
    body: {
      name: 'operator',
      role: 'admin',
      expires: null,
      rights: expect.arrayContaining(['people:change']),
    },
  });
  for (const [method, path, json] of [
    ['PUT', '/api/v1/users/operator', { role: 'viewer' }],
    ['DELETE', '/api/v1/users/operator', undefined],
    ['POST', '/api/v1/users/operator/disable', undefined],
    ['POST', '/api/v1/users/operator/tokens', {}],
    ['POST', '/api/v1/me/tokens', {}],
  ] as const) {
    const answer = await running.api(method, path, json ? { json } : {});
    expect(answer, `${method} ${path}`).toMatchObject({ status: 400, body: { code: 'KND_PERSON_INVALID' } });
  }
});

test('a person is known by a token of their own, also after a restart', async () => {
  const token = await person('ann', 'technician');
  await running.restart({});
  expect(await me(token)).toMatchObject({
    status: 200,
    body: { name: 'ann', role: 'technician', expires: '2026-12-18T09:00:00.000Z' },
  });
  const { rights } = (await me(token)).body;
  expect(rights).toContain('nodes:install');
  expect(rights).not.toContain('people:change');
});

test('of a token the hash is kept, and nobody is shown it twice', async () => {
  const token = await person('ann', 'admin');
  for (const path of ['/api/v1/users', '/api/v1/tokens']) {
    expect((await running.api('GET', path)).text).not.toContain(token.slice(4));
  }
  await running.restart({}, async () => {
    expect(readFileSync(join(running.folder, 'kindling.sqlite')).includes(token.slice(4))).toBe(false);
  });
});

describe('a token no longer works', () => {
  const refused = (message: RegExp) => ({
    status: 401,
    body: { code: 'KND_API_UNAUTHENTICATED', title: expect.stringMatching(message) },
  });

  test('when its time is over', async () => {
    await person('ann', 'viewer');
    const { token } = await newToken('ann', { expiresInSeconds: 60 });
    now = new Date(now.getTime() + 59_999);
    expect((await me(token)).status).toBe(200);
    now = new Date(now.getTime() + 1);
    expect(await me(token)).toMatchObject(refused(/ended on 2026-11-18T09:01:00/));
    expect((await running.api('GET', '/api/v1/tokens')).body.tokens).toHaveLength(1);
  });

  test('when it was revoked, while the others of the person do', async () => {
    const kept = await person('ann', 'viewer');
    const { id, token } = await newToken('ann');
    expect((await running.api('DELETE', `/api/v1/tokens/${id}`)).status).toBe(204);
    expect(await me(token)).toMatchObject(refused(/revoked/));
    expect((await me(kept)).status).toBe(200);
  });

  test('while the person is disabled', async () => {
    const token = await person('ann', 'viewer');
    await running.api('POST', '/api/v1/users/ann/disable');
    expect(await me(token)).toMatchObject(refused(/ann was disabled/));
    await running.api('POST', '/api/v1/users/ann/enable');
    expect((await me(token)).status).toBe(200);
  });

  test('when the person was removed, also if somebody of the same name comes', async () => {
    const token = await person('ann', 'admin');
    await running.api('DELETE', '/api/v1/users/ann');
    expect(await me(token)).toMatchObject(refused(/not known at this site/));
    await person('ann', 'viewer');
    expect(await me(token)).toMatchObject(refused(/not known at this site/));
  });

  test('at another site', async () => {
    const token = await person('ann', 'admin');
    await using other = await RunningStub.start({ auth: 'required' });
    await other.api('PUT', '/api/v1/users/ann', { json: { role: 'admin' } });
    expect(await other.api('GET', '/api/v1/me', { token })).toMatchObject(refused(/not known at this site/));
    expect((await other.api('GET', '/api/v1/me', { token: running.stub.token })).status).toBe(401);
  });

  test('for the events that somebody watches with it', async () => {
    await person('ann', 'viewer');
    const { id, token } = await newToken('ann');
    const ended = watchEvents(token);
    expect(await ended.opened).toBe(200);
    await running.api('DELETE', `/api/v1/tokens/${id}`);
    await ended.ended;
  });
});

describe('nobody gets more rights than they were given', () => {
  const forbidden = { status: 403, body: { code: 'KND_API_FORBIDDEN' } };

  test('a technician makes no admin, changes no role and makes nobody a token', async () => {
    const token = await person('tim', 'technician');
    await person('ada', 'admin');
    for (const [method, path, json] of [
      ['PUT', '/api/v1/users/eve', { role: 'admin' }],
      ['PUT', '/api/v1/users/tim', { role: 'admin' }],
      ['POST', '/api/v1/users/ada/tokens', {}],
      ['POST', '/api/v1/users/tim/tokens', {}],
      ['POST', '/api/v1/users/ada/disable', undefined],
      ['DELETE', '/api/v1/users/ada', undefined],
    ] as const) {
      const answer = await running.api(method, path, { token, ...(json ? { json } : {}) });
      expect(answer, `${method} ${path}`).toMatchObject(forbidden);
    }
    const { users } = (await running.api('GET', '/api/v1/users')).body;
    expect(users).toMatchObject([
      { name: 'ada', role: 'admin', isDisabled: false },
      { name: 'tim', role: 'technician' },
    ]);
  });

  test('a role that was taken away is gone with the next call', async () => {
    const token = await person('ann', 'admin');
    await running.api('PUT', '/api/v1/users/ann', { json: { role: 'viewer' } });
    expect(await running.api('PUT', '/api/v1/users/eve', { token, json: { role: 'admin' } })).toMatchObject(
      forbidden,
    );
  });

  test('a token made with a token ends no later, and nobody revokes the token of another', async () => {
    await person('ann', 'operator');
    const short = await newToken('ann', { expiresInSeconds: 3600 });
    const year = { expiresInSeconds: 365 * 24 * 3600 };
    const made = await running.api('POST', '/api/v1/me/tokens', { token: short.token, json: year });
    expect(made).toMatchObject({ status: 201, body: { person: 'ann', expiresAt: short.expiresAt } });
    await person('bob', 'operator');
    const { id } = await newToken('bob');
    const answer = await running.api('DELETE', `/api/v1/me/tokens/${id}`, { token: short.token });
    expect(answer).toMatchObject({ status: 404, body: { code: 'KND_TOKEN_UNKNOWN' } });
    const own = await running.api('DELETE', `/api/v1/me/tokens/${made.body.id}`, { token: short.token });
    expect(own.status).toBe(204);
  });

  test('a viewer lets no machine in by gRPC either, and a technician does', async () => {
    const { uuid, serialnum, macId, hostIp } = NODE;
    const letIn = (token: string) =>
      callUnary(
        running.client(),
        InteractiveOnboardingService.method.createNodes,
        { payload: [{ hwdata: [{ uuid, serialnum, macId, sutIp: hostIp }] }] },
        { headers: { authorization: `Bearer ${token}`, activeprojectid: running.stub.projectId } },
      );
    const viewer = await person('vic', 'viewer');
    expect(await failure(letIn(viewer))).toMatchObject({ details: 'Request is blocked by RBAC' });
    await expect(letIn(await person('tim', 'technician'))).resolves.toBeDefined();
  });
});

test('what makes no sense is refused', async () => {
  const viewer = { role: 'viewer' };
  for (const [what, method, path, json, code] of [
    ['a name with a slash', 'PUT', '/api/v1/users/a%2Fb', viewer, 'KND_PERSON_INVALID'],
    ['a name that a terminal obeys', 'PUT', '/api/v1/users/a%1b%5b2J', viewer, 'KND_PERSON_INVALID'],
    ['a long name', 'PUT', `/api/v1/users/${'a'.repeat(121)}`, viewer, 'KND_PERSON_INVALID'],
    ['a role that does not exist', 'PUT', '/api/v1/users/ann', { role: 'root' }, 'KND_API_INVALID'],
    ['an unknown field', 'PUT', '/api/v1/users/ann', { ...viewer, x: 1 }, 'KND_API_INVALID'],
    ['a token of nobody', 'POST', '/api/v1/users/nobody/tokens', {}, 'KND_PERSON_UNKNOWN'],
    [
      'a token for ever',
      'POST',
      '/api/v1/users/nobody/tokens',
      { expiresInSeconds: 1e12 },
      'KND_API_INVALID',
    ],
    [
      'a token of the past',
      'POST',
      '/api/v1/users/nobody/tokens',
      { expiresInSeconds: -60 },
      'KND_API_INVALID',
    ],
  ] as const) {
    expect((await running.api(method, path, { json })).body, what).toMatchObject({ code });
  }
});

function watchEvents(token: string): { opened: Promise<number>; ended: Promise<void> } {
  const opened = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  const request = httpRequest(
    `${running.stub.urls.http}/api/v1/events`,
    { agent: false, headers: { authorization: `Bearer ${token}` } },
    (response) => {
      opened.resolve(response.statusCode ?? 0);
      response.on('end', ended.resolve).resume();
    },
  );
  request.on('error', ended.reject).end();
  return { opened: opened.promise, ended: ended.promise };
}
