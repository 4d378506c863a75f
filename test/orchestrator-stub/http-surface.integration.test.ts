import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  Health,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../protocol/generated/grpc-health_pb.js';
import {
  ServerReflection,
  type ServerReflectionResponse,
} from '../../protocol/generated/grpc-reflection_pb.js';
import { callUnary, openBidiStream } from '../../protocol/grpc-service.ts';
import { failure, NODE, RunningStub } from './running-stub.ts';

let running: RunningStub;
const content = Buffer.from(Array.from({ length: 1000 }, (_unused, index) => index % 251));

beforeAll(async () => {
  running = await RunningStub.start({ port: 0, plainPort: 0 });
  await mkdir(join(running.folder, 'tink-stack', 'keys'), { recursive: true });
  await writeFile(join(running.folder, 'tink-stack', 'vmlinuz-x86_64'), content);
  await writeFile(join(running.folder, 'tink-stack', 'keys', 'db.der'), 'der');
});

afterAll(() => running[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${running.stub.urls.plain}${path}`, { headers });

describe('boot artifacts', () => {
  test('are served whole, in parts and not at all, with and without TLS', async () => {
    const whole = await get('/tink-stack/vmlinuz-x86_64');
    expect(Buffer.from(await whole.arrayBuffer())).toEqual(content);
    const etag = whole.headers.get('etag') ?? '';
    const part = await get('/tink-stack/vmlinuz-x86_64', { range: 'bytes=100-199', 'if-range': etag });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe('bytes 100-199/1000');
    expect(Buffer.from(await part.arrayBuffer())).toEqual(content.subarray(100, 200));
    expect((await get('/tink-stack/vmlinuz-x86_64', { 'if-none-match': etag })).status).toBe(304);
    expect((await get('/tink-stack/vmlinuz-x86_64', { range: 'bytes=5000-' })).status).toBe(416);
    expect((await running.api('GET', '/tink-stack/keys/db.der', { token: null })).text).toBe('der');
    const head = await fetch(`${running.stub.urls.plain}/tink-stack/vmlinuz-x86_64`, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe('1000');
  });
});

test('HEAD of the stream of events is an answer, not a stream', async () => {
  expect((await running.api('HEAD', '/api/v1/events')).status).toBe(200);
});

describe('one port', () => {
  test('gives HTTP to clients that speak it and gRPC to those that offer h2 alone', async () => {
    expect((await running.api('GET', '/healthz', { token: null })).body.status).toBe('ok');
    expect((await callUnary(running.client(), Health.method.check, { service: '' })).status).toBe(
      Serving.SERVING,
    );
  });

  test('the CA that signs it can be fetched', async () => {
    expect((await running.api('GET', '/site-ca.crt', { token: null })).text).toBe(running.stub.ca);
  });
});

describe('gRPC health and reflection', () => {
  test('health knows its services', async () => {
    const check = (service: string) => callUnary(running.client(), Health.method.check, { service });
    expect((await check('proto.WorkflowService')).status).toBe(Serving.SERVING);
    expect(await failure(check('nope'))).toMatchObject({ code: 5 });
  });

  test('reflection lists services and describes them', async () => {
    const call = openBidiStream(running.client(), ServerReflection.method.serverReflectionInfo);
    const ask = async (messageRequest: unknown) => {
      const answered = Promise.withResolvers<ServerReflectionResponse>();
      call.once('data', answered.resolve);
      call.write({
        $typeName: 'grpc.reflection.v1.ServerReflectionRequest',
        host: '',
        messageRequest,
      } as never);
      return (await answered.promise).messageResponse;
    };
    const listed = await ask({ case: 'listServices', value: '' });
    const names = listed.case === 'listServicesResponse' ? listed.value.service.map(({ name }) => name) : [];
    expect(names).toEqual(
      expect.arrayContaining([
        'proto.WorkflowService',
        'onboardingmgr.v1.NonInteractiveOnboardingService',
        'grpc.health.v1.Health',
      ]),
    );
    const described = await ask({
      case: 'fileContainingSymbol',
      value: 'onboardingmgr.v1.NonInteractiveOnboardingService',
    });
    const files = described.case === 'fileDescriptorResponse' ? described.value.fileDescriptorProto : [];
    expect(files.map((file) => fromBinary(FileDescriptorProtoSchema, file).package)).toEqual(
      expect.arrayContaining(['onboardingmgr.v1', 'google.rpc']),
    );
    const unknown = await ask({ case: 'fileContainingSymbol', value: 'no.Such' });
    expect(unknown.case).toBe('errorResponse');
    call.end();
  });
});

describe('events', () => {
  test('a watcher that comes back misses nothing, and may watch one node only', async () => {
    const { body } = await running.api('POST', '/api/v1/nodes', { json: { serial: 'EVENT1234' } });
    await running.api('POST', '/api/v1/nodes', { json: { serial: 'EVENT5678' } });
    const stop = new AbortController();
    const url = `${running.stub.urls.http}/api/v1/events?node=${body.id}`;
    const headers = { authorization: `Bearer ${running.stub.token}`, 'last-event-id': '0' };
    const watch = getSecurely(url, { ca: running.stub.ca, headers, signal: stop.signal });
    watch.on('error', () => {}); // it is ended below
    const [response] = (await once(watch, 'response')) as [IncomingMessage];
    await running.api('POST', `/api/v1/nodes/${body.id}/onboard`);
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.includes('"change":"changed"')) break;
    }
    stop.abort();
    expect([...text.matchAll(/"change":"(\w+)"/g)].map(([, change]) => change)).toEqual([
      'registered',
      'changed',
    ]);
    expect(text).toMatch(/^id: \d+$/m);
  });
});

describe('the OpenAPI document', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a document to walk through
  let document: any;

  beforeAll(async () => {
    document = (await running.api('GET', '/api/v1/openapi.json', { token: null })).body;
  });

  test('is valid', async () => {
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
  });

  test('is 3.1 and every reference leads somewhere', () => {
    expect(document.openapi).toBe('3.1.0');
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references) {
      const target = reference
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);
      expect(target, reference).toBeDefined();
      expect(JSON.stringify(target)).not.toBe(`{"$ref":"#/${reference}"}`);
    }
  });

  test('every operation is named once, has an answer, and names the parts of its path', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods as Record<string, unknown>).map((operation) => ({
        path,
        operation: operation as Record<string, unknown>,
      })),
    );
    const names = operations.map(({ operation }) => operation['operationId']);
    expect(new Set(names).size).toBe(names.length);
    for (const { path, operation } of operations) {
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const parameters = operation['parameters'] as { in: string; name: string }[];
      expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(wanted);
      expect(Object.keys(operation['responses'] as object)).toContain('default');
    }
  });

  test('an answer is what the document says it is', async () => {
    await running.api('POST', '/api/v1/nodes', { json: { uuid: NODE.uuid } });
    const node = (await running.api('GET', `/api/v1/nodes/${NODE.uuid}`)).body;
    const schema = document.components.schemas.Node;
    expect(Object.keys(node)).toEqual(expect.arrayContaining(schema.required));
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(Object.keys(node)));
  });
});
