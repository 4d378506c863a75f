import { once } from 'node:events';
import { connect } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ActionStatusRequestSchema, WorkflowService } from '../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { failure } from '../orchestrator-stub/running-stub.ts';
import { storedInstance } from '../orchestrator-stub/seal/test-seal.ts';
import { AttackedSite, ghost, HONEST, OTHER } from './attacked-site.ts';

let site: AttackedSite;
let honest: { id: string; token: string };
let other: { id: string; token: string };
beforeAll(async () => {
  site = await AttackedSite.start();
  await site.profile();
  honest = await site.install(HONEST);
  other = await site.install(OTHER);
});
afterAll(async () => {
  expect((await site.running.api('GET', '/healthz')).status, 'after all of it').toBe(200);
  await site[Symbol.asyncDispose]();
});

const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  site.running.api('POST', path, {
    body,
    token: null,
    headers: { 'content-type': 'application/json', ...headers },
  });
const workflow = async () => site.workflowOf(HONEST);
const logs = (body: string | Buffer, headers: Record<string, string> = {}) => post('/v1/logs', body, headers);
const lineOf = (nodeId: string, message = 'evil') =>
  JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'host.id', value: { stringValue: nodeId } }] },
        scopeLogs: [{ logRecords: [{ body: { stringValue: message } }] }],
      },
    ],
  });

describe('tokens', () => {
  it.each([
    ['none', () => null],
    ['a node’s', () => honest.token],
    ['the operator’s with a letter more', () => `${site.running.stub.token}x`],
    ['the operator’s in another case', () => site.running.stub.token.toUpperCase()],
    ['an unsigned JWT', () => `${btoa('{"alg":"none"}')}.${btoa('{"typ":"Bearer","sub":"operator"}')}.`],
  ])('%s lists no nodes', async (_what, token) => {
    expect((await site.running.api('GET', '/api/v1/nodes', { token: token() })).status).toBeGreaterThan(400);
  });

  it('a node’s token whose payload was changed to another node’s is refused', async () => {
    const [head, payload = '', signature] = honest.token.split('.');
    const claims = Buffer.from(payload, 'base64url').toString().replaceAll(HONEST.uuid, OTHER.uuid);
    const forged = [head, Buffer.from(claims).toString('base64url'), signature].join('.');
    expect(await failure(site.getAction(forged, OTHER.macId))).toMatchObject({ code: 16 });
  });

  it('one node reports nothing about another’s workflow', async () => {
    const { id, actions } = await workflow();
    const action = await site.getAction(honest.token, HONEST.macId);
    const report = create(ActionStatusRequestSchema, {
      workflowId: id,
      taskId: action.taskId,
      actionId: action.actionId,
      agentId: HONEST.macId,
      actionState: 3,
    });
    const headers = { authorization: `Bearer ${other.token}` };
    const call = callUnary(site.running.client(), WorkflowService.method.reportActionStatus, report, {
      headers,
    });
    expect(await failure(call)).toMatchObject({ code: 7 });
    expect((await workflow()).actions).toEqual(actions);
  });

  it('a refresh token is no access token, and an access token refreshes nothing', async () => {
    const { refresh_token: refresh, access_token: access } = (await site.signIn()).body;
    expect(await failure(site.createNodes(refresh, ghost(1)))).toMatchObject({ code: 16 });
    expect((await site.refresh(access)).status).toBe(400);
    expect((await site.refresh(honest.token)).status).toBe(400);
  });

  it('a client id with another client’s secret gets nothing', async () => {
    const { clientSecret } = await site.running.knock(OTHER);
    expect(
      await site.running.accessToken({ clientId: `edgenode-${HONEST.uuid}`, clientSecret }),
    ).toBeUndefined();
  });
});

describe('logs', () => {
  it('a stranger writes nothing into a node’s log, by id or by UUID', async () => {
    for (const nodeId of [honest.id, HONEST.uuid, HONEST.uuid.toUpperCase()]) await logs(lineOf(nodeId));
    const { lines } = (await site.running.api('GET', `/api/v1/nodes/${honest.id}/logs`)).body;
    expect(JSON.stringify(lines)).not.toContain('evil');
  });

  it('one node writes nothing into another’s log', async () => {
    await logs(lineOf(honest.id), { authorization: `Bearer ${other.token}` });
    const { lines } = (await site.running.api('GET', `/api/v1/nodes/${honest.id}/logs`)).body;
    expect(JSON.stringify(lines)).not.toContain('evil');
  });

  it.each([
    ['a gzip of 1 GB', gzipSync(Buffer.alloc(64 * 2 ** 20)), { 'content-encoding': 'gzip' }],
    ['a gzip that ends early', gzipSync(Buffer.alloc(1000)).subarray(0, 20), { 'content-encoding': 'gzip' }],
    ['an encoding nobody knows', Buffer.from('{}'), { 'content-encoding': 'br' }],
    ['brackets, a million deep', Buffer.from('['.repeat(1_000_000)), {}],
    [
      'a value, deep inside',
      Buffer.from(`{"resourceLogs":${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}}`),
      {},
    ],
    ['half a protobuf', Buffer.from('0aff', 'hex'), { 'content-type': 'application/x-protobuf' }],
    [
      'a protobuf that names 4 GB',
      Buffer.from('0affffffff0f', 'hex'),
      { 'content-type': 'application/x-protobuf' },
    ],
    ['__proto__', Buffer.from('{"__proto__":{"isAdmin":true},"resourceLogs":[]}'), {}],
  ])('%s: refused or empty, and the server goes on', async (_what, body, headers) => {
    const { status } = await logs(body, headers);
    expect([200, 400, 413, 415, 429]).toContain(status);
    expect(Object.prototype).not.toHaveProperty('isAdmin');
  });
});

describe('discovery', () => {
  it.each([
    ['a prototype', '{"identity":{"macs":[],"nodeId":"x","__proto__":{"isRegistered":true}}}'],
    [
      'isRegistered',
      JSON.stringify({ identity: { macs: [], nodeId: 'x', uuid: ghost(50).uuid }, isRegistered: true }),
    ],
    ['an id', JSON.stringify({ id: 'host-1', identity: { macs: [], nodeId: 'x', uuid: ghost(51).uuid } })],
  ])('%s in an inventory registers nobody', async (_what, body) => {
    const { status, body: answer } = await post('/api/v1/discovery', body);
    if (status === 200) expect(await site.node(answer.nodeId)).toMatchObject({ isRegistered: false });
    else expect(status).toBe(400);
  });

  it.each([
    ['257 MACs', { identity: { macs: Array(257).fill(HONEST.macId), nodeId: 'x' } }],
    [
      '1,025 disks',
      { identity: { macs: [], nodeId: 'x' }, disks: Array(1025).fill({ kind: 'disk', path: '/dev/sda' }) },
    ],
    ['a number for a UUID', { identity: { macs: [], nodeId: 'x', uuid: 7 } }],
    ['no identity', {}],
    ['a list', []],
    ['null', null],
  ])('%s is refused', async (_what, json) => {
    expect((await post('/api/v1/discovery', JSON.stringify(json))).status).toBe(400);
  });

  it('a stranger with a node’s id for a serial or name is not that node', async () => {
    await site.discover({ serial: honest.id, nodeId: honest.id });
    expect(await site.node(honest.id)).toMatchObject({ uuid: HONEST.uuid, isRegistered: true });
  });
});

describe('addresses', () => {
  it.each([
    '/tink-stack/../kindling.sqlite',
    '/tink-stack/%2e%2e/operator-token',
    '/tink-stack/..%2foperator-token',
    '/tink-stack//etc/passwd',
    '/tink-stack/%00',
    '/files-edge-orch/....//operator-token',
    '/tink-stack/\\..\\operator-token',
  ])('%s is no file', async (path) => {
    const { status, text } = await site.running.api('GET', path, { token: null });
    expect([400, 404]).toContain(status);
    expect(text).not.toContain(site.running.stub.token);
  });

  it.each(['guess', '0'.repeat(32), '%', "' OR 1=1 --", '__proto__', '%00'])(
    'the key %j opens nothing',
    async (key) => {
      for (const path of ['first-boot', 'recovery-keys', 'neighbours']) {
        const { status } = await post(`/api/v1/${path}/${encodeURIComponent(key)}`, '{}');
        expect([400, 404]).toContain(status);
      }
    },
  );

  it('the key of a node that was deauthorized reports no first boot any more', async () => {
    const { id } = await site.install(ghost(70));
    const key = storedInstance(site.running.folder, id)?.firstBootKey;
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    await site.running.api('POST', `/api/v1/nodes/${id}/deauthorise`);
    await post(`/api/v1/first-boot/${key}`, '{}');
    expect(await site.node(id)).toMatchObject({ currentState: 'UNTRUSTED' });
  });
});

describe('on the wire', () => {
  const raw = async (bytes: string, protocol = 'http/1.1') => {
    const socket = connect({
      port: Number(new URL(site.running.stub.urls.http).port),
      host: '127.0.0.1',
      ca: site.running.stub.ca,
      ALPNProtocols: [protocol],
      servername: 'localhost',
    });
    await once(socket, 'secureConnect');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.end(bytes);
    await closed;
    return Buffer.concat(chunks).toString();
  };

  it.each([
    [
      'two lengths',
      'POST /v1/logs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\ncontent-length: 5\r\n\r\nGET /',
    ],
    [
      'length and chunks',
      'POST /v1/logs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a line break in a header', 'GET / HTTP/1.1\r\nhost: localhost\r\nx: a\n\tb: c\0\r\n\r\n'],
    ['no host', 'GET /api/v1/nodes HTTP/1.1\r\n\r\n'],
    ['100 kB of headers', `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n'],
    [
      'an upgrade',
      'GET /api/v1/nodes HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n',
    ],
    ['an absolute address', 'GET http://evil.example/api/v1/nodes HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ])('%s gets no 200', async (_what, bytes) => {
    expect(await raw(bytes)).not.toMatch(/^HTTP\/1\.1 200/);
  });

  it('a Host that is not ours becomes no issuer and no link', async () => {
    const path = '/realms/master/.well-known/openid-configuration';
    const answer = await raw(`GET ${path} HTTP/1.1\r\nhost: evil.example\r\n\r\n`);
    expect(answer).not.toMatch(/"[^"]*evil\.example/);
  });

  it.each([
    ['a preface and garbage', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(100)}`],
    ['a frame of 16 MB', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x01'],
    ['nothing of HTTP/2', 'GET / HTTP/1.1\r\n\r\n'],
  ])('HTTP/2, %s: the connection ends, nothing else does', async (_what, bytes) => {
    await raw(bytes, 'h2');
    expect((await site.running.api('GET', '/healthz')).status).toBe(200);
  });
});
