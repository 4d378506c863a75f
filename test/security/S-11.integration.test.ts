import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { otlpProtobufToJson, readOtlpJson } from '../../orchestrator-stub/http/otlp.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';

let running: RunningStub;
let nodeId: string;

beforeAll(async () => {
  running = await RunningStub.start({ auth: 'required', user: { name: 'kim', password: 'right' } });
  const identity = { uuid: '7f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5', macs: ['52:54:00:99:34:56'], nodeId: 'x' };
  nodeId = (await running.api('POST', '/api/v1/discovery', { json: { identity }, token: null })).body.nodeId;
});
afterAll(() => running[Symbol.asyncDispose]());

it('100,000 empty records in 443 bytes are refused, not stored one by one', async () => {
  const records = `[${Array(100_000).fill('{}').join(',')}]`;
  const body = `{"resourceLogs":[{"resource":{"attributes":[{"key":"kindling.node","value":{"stringValue":"${nodeId}"}}]},"scopeLogs":[{"logRecords":${records}}]}]}`;
  const answer = await running.api('POST', '/v1/logs', {
    body: gzipSync(body),
    token: null,
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  });
  expect(answer).toMatchObject({ status: 413, body: { code: 'KND_API_TOO_LARGE' } });
  expect((await running.api('GET', `/api/v1/nodes/${nodeId}/logs`)).body.lines).toEqual([]);
});

it('millions of empty protobuf messages are refused before they are objects', () => {
  expect(() => readOtlpJson(otlpProtobufToJson(Buffer.alloc(400_000, Buffer.from([0x0a, 0x00]))))).toThrow(
    'too many parts',
  );
});

it('guessing passwords blocks nobody and soon gets no answer but “later”', async () => {
  const guess = (password: string) =>
    running.grant(
      new URLSearchParams({ grant_type: 'password', client_id: 'system-client', username: 'kim', password }),
    );
  const guesses = Promise.all(Array.from({ length: 60 }, (_, index) => guess(`wrong ${index}`)));
  let longest = 0;
  let isGuessing = true;
  guesses.finally(() => {
    isGuessing = false;
  });
  while (isGuessing) {
    const start = performance.now();
    await running.api('GET', '/healthz', { token: null });
    longest = Math.max(longest, performance.now() - start);
  }
  const statuses = (await guesses).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(50);
  expect((await guess('right')).status, 'from the same address, for a while').toBe(429);
  expect(longest, 'ms that somebody else waited').toBeLessThan(2000);
});
