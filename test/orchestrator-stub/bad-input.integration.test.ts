import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NonInteractiveOnboardingService } from '../../protocol/generated/onboarding_pb.js';
import { WorkflowService as CurrentService } from '../../protocol/generated/tink-current_pb.js';
import { WorkflowService as LegacyService } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary, methodPath } from '../../protocol/grpc-service.ts';
import { failure, NODE, RunningStub } from './running-stub.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
let running: RunningStub;
let before: string;

beforeAll(async () => {
  running = await RunningStub.start({ holdMs: 50 });
  await running.api('POST', '/api/v1/nodes', { json: { uuid: NODE.uuid, serial: NODE.serialnum } });
  await mkdir(join(running.folder, 'tink-stack', 'keys'), { recursive: true });
  await writeFile(join(running.folder, 'tink-stack', 'boot.ipxe'), '#!ipxe\necho hello\n');
  await symlink('/etc/passwd', join(running.folder, 'tink-stack', 'keys', 'link'));
  before = await everything();
});

afterAll(async () => {
  expect(await everything()).toBe(before);
  await running[Symbol.asyncDispose]();
});

/** All that could have been changed. */
async function everything(): Promise<string> {
  const paths = ['nodes', 'workflows', 'profiles', 'templates', 'site'];
  const answers = await Promise.all(paths.map((path) => running.api('GET', `/api/v1/${path}`)));
  return JSON.stringify(answers.map(({ body }) => body));
}

/** Sends bytes as they are. */
function sendRaw(path: string, bytes: Buffer): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers();
  const asIs = (value: Buffer) => value;
  running
    .client()
    .makeUnaryRequest(path, asIs, asIs, bytes, (error, answer) => (error ? reject(error) : resolve(answer)));
  return promise;
}

function streamRaw(path: string, bytes: Buffer): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers();
  const asIs = (value: Buffer) => value;
  const call = running.client().makeBidiStreamRequest(path, asIs, asIs);
  call.on('data', resolve);
  call.on('error', reject);
  call.on('end', () => resolve(undefined));
  call.write(bytes);
  call.end();
  return promise;
}

const GARBAGE = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01, 0x02]);
const HUGE = Buffer.alloc(5 * 1024 * 1024, 0x41);

describe('gRPC', () => {
  const unary = [
    methodPath(LegacyService.method.getWorkflowContexts),
    methodPath(LegacyService.method.getWorkflowActions),
    methodPath(LegacyService.method.reportActionStatus),
    methodPath(CurrentService.method.getAction),
    '/onboardingmgr.v1.InteractiveOnboardingService/CreateNodes',
  ];

  test.each(unary)('garbage to %s is INTERNAL', async (path) => {
    expect(await failure(sendRaw(path, GARBAGE))).toMatchObject({ code: status.INTERNAL });
  });

  test.each(unary)('5 MB to %s is RESOURCE_EXHAUSTED', async (path) => {
    expect(await failure(sendRaw(path, HUGE))).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  test('garbage and 5 MB in the onboarding stream end it', async () => {
    const path = methodPath(NonInteractiveOnboardingService.method.onboardNodeStream);
    expect(await failure(streamRaw(path, GARBAGE))).toMatchObject({ code: status.INTERNAL });
    expect(await failure(streamRaw(path, HUGE))).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  test('a report that fits neither dialect is refused as the legacy one would be', async () => {
    const empty = await failure(
      sendRaw(methodPath(LegacyService.method.reportActionStatus), Buffer.alloc(0)),
    );
    expect(empty).toEqual({ code: status.INVALID_ARGUMENT, details: 'invalid workflow id' });
  });

  test('SQL in a serial, a UUID and a worker id is only text', async () => {
    const attack = "x'; DROP TABLE hosts; --";
    expect((await running.knock({ uuid: attack })).status).toMatchObject({ code: 3 });
    const asSerial = await running.knock({ uuid: '00000000-0000-4000-8000-000000000000', serialnum: attack });
    expect(asSerial.status).toMatchObject({ code: 5 });
    const idle = callUnary(running.client(), CurrentService.method.getAction, { agentId: attack });
    expect(await failure(idle)).toEqual({ code: status.NOT_FOUND, details: 'no Workflows found' });
  });

  test('a method nobody has is UNIMPLEMENTED', async () => {
    expect(await failure(sendRaw('/proto.WorkflowService/Nothing', Buffer.alloc(0)))).toMatchObject({
      code: status.UNIMPLEMENTED,
    });
  });
});

describe('HTTP', () => {
  test.each([
    ['POST', '/api/v1/nodes', '{"uuid":"1"}', 400, 'KND_API_INVALID'],
    ['POST', '/api/v1/nodes', '{"serial":"x\'; DROP TABLE hosts;--"}', 400, 'KND_API_INVALID'],
    ['POST', '/api/v1/nodes', '{}', 400, 'KND_API_INVALID'],
    ['POST', '/api/v1/nodes', '{"serial":"ABCDE","color":"red"}', 400, 'KND_API_INVALID'],
    ['POST', '/api/v1/nodes', `{"serial":"${NODE.serialnum.toLowerCase()}"}`, 409, 'KND_NODE_CONFLICT'],
    ['POST', '/api/v1/nodes', 'not json', 400, 'KND_API_INVALID'],
    ['POST', '/api/v1/nodes', '[]', 400, 'KND_API_INVALID'],
    ['GET', "/api/v1/nodes/x'%20OR%201=1", undefined, 404, 'KND_NODE_UNKNOWN'],
    ['GET', '/api/v1/nodes/%zz', undefined, 404, 'KND_API_NOT_FOUND'],
    ['POST', '/api/v1/nodes/nobody/onboard', undefined, 404, 'KND_NODE_UNKNOWN'],
    ['PUT', '/api/v1/nodes', '{}', 405, 'KND_API_METHOD'],
    ['GET', '/api/v1/nothing', undefined, 404, 'KND_API_NOT_FOUND'],
    ['PUT', '/api/v1/profiles/..%2f..%2fetc', '{"imageUrl":"http://x"}', 400, 'KND_PROFILE_INVALID'],
    ['PUT', '/api/v1/profiles/x', '{"imageUrl":""}', 400, 'KND_API_INVALID'],
    ['PATCH', '/api/v1/site', '{"defaultProfile":"nope"}', 404, 'KND_PROFILE_UNKNOWN'],
    ['PATCH', '/api/v1/site', '{"autoProvision":"yes"}', 400, 'KND_API_INVALID'],
    ['PUT', '/api/v1/templates/x', '{"text":"{{ .a"}', 422, 'KND_TEMPLATE_INVALID'],
    ['DELETE', '/api/v1/templates/ubuntu', undefined, 422, 'KND_TEMPLATE_INVALID'],
    ['POST', '/api/v1/workflows/nope/cancel', undefined, 404, 'KND_WORKFLOW_UNKNOWN'],
    ['POST', '/api/v1/workflows', `{"node":"${NODE.uuid}","template":"ubuntu"}`, 422, 'KND_TEMPLATE_INVALID'],
    ['POST', '/api/v1/first-boot/0000', '{}', 404, 'KND_API_NOT_FOUND'],
    ['GET', `/api/v1/nodes/${NODE.uuid}/logs?limit=-1`, undefined, 400, 'KND_API_INVALID'],
    ['POST', '/v1/logs', '{}', 400, 'KND_API_INVALID'],
  ])('%s %s %s → %i %s', async (method, path, body, code, name) => {
    // Logs say what they are; everything else that has a body is JSON.
    const headers = path === '/v1/logs' ? {} : JSON_TYPE;
    const answer = await running.api(method, path, body === undefined ? {} : { body, headers });
    expect(answer).toMatchObject({ status: code, body: { code: name, status: code } });
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.body.hint).not.toBe('');
  });

  test('5 MB is refused, announced or not', async () => {
    const announced = await running
      .api('POST', '/api/v1/discovery', { body: HUGE, headers: JSON_TYPE })
      .catch((error: Error) => error);
    // The server may hang up while we still send; either way it took nothing.
    if (!(announced instanceof Error))
      expect(announced).toMatchObject({ status: 413, body: { code: 'KND_API_TOO_LARGE' } });
    const chunked = await fetch(`${running.stub.urls.http}/api/v1/discovery`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: new ReadableStream({
        pull(controller) {
          controller.enqueue(HUGE);
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit).catch((error: Error) => error);
    if (!(chunked instanceof Error)) expect(chunked.status).toBe(413);
  });

  test.each([
    '/tink-stack/../kindling.sqlite',
    '/tink-stack/..%2fkindling.sqlite',
    '/tink-stack/%2e%2e/site-ca.key',
    '/tink-stack/%2e%2e%2fsite-ca.key',
    '/tink-stack/keys/../../operator-token',
    '/tink-stack/keys%2f..%2f..%2foperator-token',
    '/tink-stack//etc/passwd',
    '/tink-stack/%2fetc%2fpasswd',
    '/tink-stack/keys\\..\\..\\operator-token',
    '/tink-stack/keys/link',
    '/tink-stack/boot.ipxe%00.txt',
    '/tink-stack/keys',
    '/tink-stack/',
    '/tink-stack',
  ])('%s gives nothing away', async (path) => {
    const answer = await rawGet(path);
    expect(answer).toMatch(/^HTTP\/1.1 40[04] /);
    expect(answer).toContain('"code":"KND_API_');
    expect(answer).not.toContain('root:');
  });

  test('what is no HTTP at all closes the connection and nothing else', async () => {
    expect(await rawBytes('\x00\x01\x02 garbage\r\n\r\n')).toMatch(/^(HTTP\/1.1 400|$)/);
    expect((await running.api('GET', '/healthz')).status).toBe(200);
  });
});

/** A path that no client library has tidied up. */
function rawGet(path: string): Promise<string> {
  return rawBytes(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
}

function rawBytes(text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect(Number(new URL(running.stub.urls.http).port), '127.0.0.1', () =>
    socket.write(text, 'latin1'),
  );
  socket.setTimeout(5000, () => socket.destroy());
  socket.on('data', (chunk) => {
    answer += chunk.toString();
  });
  socket.on('error', () => {});
  socket.on('close', () => resolve(answer));
  return promise;
}
