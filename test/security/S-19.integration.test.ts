import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { startKindling } from '../../lab/site/kindling.ts';
import { isSameMachine } from '../../net/address-group.ts';
import { openOperatorToken } from '../../site/operator-token.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';

let plain: RunningStub;
let both: RunningStub;

beforeAll(async () => {
  plain = await RunningStub.start({ host: '0.0.0.0', port: false, plainPort: 0 });
  both = await RunningStub.start({ port: 0, plainPort: 0 });
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await both[Symbol.asyncDispose]();
});

const register = (headers: Record<string, string>, body = '{"serial":"REBIND123"}') =>
  plain.api('POST', '/api/v1/nodes', { body, token: null, headers });
const json = { 'content-type': 'application/json' };

describe('a page in the operator’s browser', () => {
  it.each([
    ['of another site', { ...json, origin: 'http://evil.example' }],
    ['that hides where it is from', { ...json, origin: 'null' }],
    ['of another site, as the browser says', { ...json, 'sec-fetch-site': 'cross-site' }],
    [
      'whose name was made to point here',
      { ...json, host: 'rebind.evil.example', origin: 'http://rebind.evil.example' },
    ],
  ])('%s changes nothing', async (_what, headers) => {
    expect(await register(headers)).toMatchObject({ status: 403, body: { code: 'KND_API_FORBIDDEN' } });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', ''])('sends no JSON as %j', async (type) => {
    expect(await register({ 'content-type': type })).toMatchObject({ status: 400 });
  });
});

it('without TLS the operator’s token is asked for, except of programs on the same machine', async () => {
  expect((await plain.api('GET', '/api/v1/nodes', { token: null })).status).toBe(200);
  expect(isSameMachine('::ffff:127.0.0.1', '::ffff:127.0.0.1')).toBe(true);
  expect(isSameMachine('::ffff:10.0.0.5', '10.0.0.5')).toBe(true);
  expect(isSameMachine('10.0.0.6', '10.0.0.5')).toBe(false);
  expect(isSameMachine(undefined, undefined)).toBe(false);
});

it('from another machine the API answers nothing without the token', async () => {
  await using network = await createTestNetwork();
  const { bridge } = network;
  const state = join(bridge.namespace.makeFolder('s19'), 'state');
  const serve = ['serve', '--plain', '--plain-port', '8080', '--host', bridge.hostAddress, '--state', state];
  await startKindling(bridge.namespace, serve, 'kindling serves');
  const stranger = await bridge.addHost(9);
  const ask = async (...args: string[]) =>
    (
      await stranger.run('curl', [
        ...['--silent', '--max-time', '20', '--output', '/dev/null', '--write-out', '%{http_code}', ...args],
        `http://${bridge.hostAddress}:8080/api/v1/nodes`,
      ])
    ).stdout;
  expect(await ask()).toBe('401');
  expect(await ask('--header', `authorization: Bearer ${openOperatorToken(state)}`)).toBe('200');
});

it.each([
  '/api/v1/nodes',
  '/healthz',
  '/realms/master/protocol/openid-connect/token',
  '/token',
  '/api/v1/discovery',
])('the plain port beside TLS knows no %s', async (path) => {
  const response = await fetch(`${both.stub.urls.plain}${path}`, {
    headers: { authorization: `Bearer ${both.stub.token}` },
  });
  expect(response.status).toBe(404);
});

it('the plain port beside TLS speaks no gRPC', async () => {
  const socket = connect(Number(new URL(both.stub.urls.plain ?? '').port), '127.0.0.1');
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  socket.resume();
  await once(socket, 'close');
  expect(socket.bytesRead).toBe(0);
});
