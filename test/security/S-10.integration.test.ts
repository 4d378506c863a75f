import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventBus, type NumberedEvent } from '../../orchestrator-stub/events/bus.ts';
import { LocalMessenger } from '../../orchestrator-stub/store/local-messenger.ts';
import { toHostId } from '../../protocol/ids.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';

let running: RunningStub;
let strangerId: string;

beforeAll(async () => {
  running = await RunningStub.start({ auth: 'required' });
  const identity = { uuid: '7f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5', macs: ['52:54:00:99:34:56'], nodeId: 'x' };
  strangerId = (await running.api('POST', '/api/v1/discovery', { json: { identity }, token: null })).body
    .nodeId;
});
afterAll(() => running[Symbol.asyncDispose]());

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const request = (nodeId: string, records: unknown[], stream = 's') => ({
  resourceLogs: [
    {
      resource: { attributes: [text('kindling.node', nodeId), text('kindling.stream', stream)] },
      scopeLogs: [{ logRecords: records }],
    },
  ],
});
const record = (sequence: number, extra: unknown[] = []) => ({
  body: { stringValue: 'x'.repeat(4000) },
  attributes: [{ key: 'kindling.sequence', value: { intValue: String(sequence) } }, ...extra],
});
const post = (json: unknown) =>
  running.api('POST', '/v1/logs', {
    body: gzipSync(JSON.stringify(json)),
    token: null,
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  });
const kept = async () =>
  (await running.api('GET', `/api/v1/nodes/${strangerId}/logs?limit=100000`)).body.lines;

it('fields, stream and level of a record have a length', async () => {
  const large = text('blob', 'y'.repeat(500_000));
  expect((await post(request(strangerId, [record(1, [large])], 'z'.repeat(100_000)))).status).toBe(200);
  const line = (await kept()).find(({ stream }: { stream: string }) => stream.startsWith('z'));
  expect(JSON.stringify(line).length).toBeLessThan(64 * 1024);
});

it('nobody writes into the log of a registered node without its token', async () => {
  const { body } = await running.api('POST', '/api/v1/nodes', { json: { uuid: NODE.uuid } });
  expect(await post(request(body.id, [record(1)]))).toMatchObject({ status: 401 });
  expect((await running.api('POST', `/api/v1/nodes/${body.id}/deauthorise`)).status).toBe(200);
  expect(await post(request(body.id, [record(1)]))).toMatchObject({ status: 401 });
});

it('a stranger’s lines are pruned whatever numbers they bear, and stay within its megabyte', async () => {
  for (let round = 0; round < 4; round += 1) {
    const sequences = Array.from({ length: 200 }, (_, index) => (round * 200 + index) * 1000 + 500);
    const { status } = await post(
      request(
        strangerId,
        sequences.map((each) => record(each)),
      ),
    );
    expect([200, 429]).toContain(status);
  }
  const lines: { message: string }[] = await kept();
  expect(lines.reduce((bytes, { message }) => bytes + message.length, 0)).toBeLessThan(1.5 * 1024 * 1024);
});

it('more than a megabyte without a token is not even unpacked', async () => {
  const large = record(1, [text('blob', 'y'.repeat(2_000_000))]);
  // too large, or too much at the moment: the lines before it have had their share
  expect([413, 429]).toContain((await post(request(strangerId, [large]))).status);
  const plain = { 'content-type': 'application/json' };
  const body = JSON.stringify(request(strangerId, [large]));
  expect(await running.api('POST', '/v1/logs', { body, token: null, headers: plain })).toMatchObject({
    status: 413,
  });
});

it('bytes without a token have a rate', async () => {
  const statuses: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    const records = Array.from({ length: 200 }, (_, index) => record(1e6 + round * 1000 + index));
    statuses.push((await post(request(strangerId, records))).status);
  }
  expect(statuses).toContain(429);
});

it('events that are kept for watchers have a size', () => {
  const bus = new EventBus(new LocalMessenger((thrown) => expect.fail(String(thrown))));
  for (let count = 0; count < 100; count += 1)
    bus.publish({ type: 'log', nodeId: toHostId('n'), lines: [{ message: 'x'.repeat(1_000_000) }] });
  const seen: NumberedEvent[] = [];
  bus.subscribe((event) => seen.push(event), 0);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.length).toBeLessThan(10);
});
