import { gzipSync } from 'node:zlib';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE, RunningStub } from './running-stub.ts';

let running: RunningStub;
let nodeId: string;

beforeAll(async () => {
  running = await RunningStub.start({ auth: 'required' });
  const identity = { uuid: NODE.uuid, serial: NODE.serialnum, macs: [NODE.macId], nodeId: 'x' };
  nodeId = (await running.api('POST', '/api/v1/discovery', { json: { identity }, token: null })).body.nodeId;
});

afterAll(() => running[Symbol.asyncDispose]());

function request(sequences: number[], stream = 'boot-1', node = nodeId): unknown {
  return {
    resourceLogs: [
      {
        resource: {
          attributes: [
            { key: 'kindling.node', value: { stringValue: node } },
            { key: 'kindling.stream', value: { stringValue: stream } },
          ],
        },
        scopeLogs: [
          {
            logRecords: sequences.map((sequence) => ({
              timeUnixNano: `${Date.UTC(2026, 10, 16, 3, 0, sequence)}000000`,
              severityNumber: 9,
              body: { stringValue: `line ${sequence}` },
              attributes: [
                { key: 'kindling.sequence', value: { intValue: String(sequence) } },
                { key: 'action', value: { stringValue: 'stream-os-image' } },
              ],
            })),
          },
        ],
      },
    ],
  };
}

const send = (json: unknown, token: string | null = null, headers = {}) =>
  running.api('POST', '/v1/logs', {
    json,
    token,
    headers: { 'content-type': 'application/json', ...headers },
  });
const lines = async () =>
  (await running.api('GET', `/api/v1/nodes/${nodeId}/logs`)).body.lines as {
    sequence: number;
    message: string;
    stream: string;
  }[];

test('lines are kept once and in order, however often and in which order they are sent, before onboarding too', async () => {
  expect((await send(request([2, 3]))).status).toBe(200);
  await send(request([1, 2]));
  await send(request([3, 4]));
  const ours = (await lines()).filter(({ stream }) => stream === 'boot-1');
  expect(ours.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  expect(ours[0]).toMatchObject({ level: 'info', message: 'line 1', fields: { action: 'stream-os-image' } });
});

test('what fluent-bit sends, protobuf and gzip, is found by its hostGuid header', async () => {
  const text = (field: number, value: string) =>
    new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish();
  const wrap = (field: number, ...parts: Uint8Array[]) =>
    new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(Buffer.concat(parts)).finish();
  const time = new BinaryWriter()
    .tag(1, WireType.Bit64)
    .fixed64(`${Date.UTC(2026, 10, 16)}000000`)
    .finish();
  const attribute = wrap(6, text(1, 'FileType'), wrap(2, text(1, 'uOS_Syslog')));
  const body = wrap(1, wrap(2, wrap(2, time, wrap(5, text(1, 'kernel: hello')), attribute)));
  const answer = await running.api('POST', '/v1/logs', {
    body: gzipSync(body),
    token: null,
    headers: {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
      hostguid: NODE.uuid.toUpperCase(),
    },
  });
  expect(answer.status).toBe(200);
  expect(await lines()).toContainEqual(
    expect.objectContaining({ message: 'kernel: hello', stream: 'uOS_Syslog' }),
  );
});

test('a stranger’s lines are refused', async () => {
  expect(await send(request([1], 'x', 'host-nobody'))).toMatchObject({
    status: 404,
    body: { code: 'KND_NODE_UNKNOWN' },
  });
});

test('an onboarded node needs its own token', async () => {
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
  const token = await running.accessToken(await running.knock());
  expect(await send(request([5]))).toMatchObject({ status: 401, body: { code: 'KND_API_UNAUTHENTICATED' } });
  expect(await send(request([5]), 'nonsense')).toMatchObject({ status: 401 });
  expect((await send(request([5]), token)).status).toBe(200);
  const other = {
    ...NODE,
    uuid: NODE.uuid.replace('6f', '7f'),
    serialnum: 'OTHER1234',
    macId: '52:54:00:12:34:99',
  };
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: other.uuid, serial: other.serialnum, autoOnboard: true },
  });
  const foreign = await running.accessToken(await running.knock(other));
  expect(await send(request([6]), foreign)).toMatchObject({
    status: 403,
    body: { code: 'KND_API_FORBIDDEN' },
  });
});

test.each([
  ['text/plain', 'x', 400],
  ['application/json', '{', 400],
  ['application/x-protobuf', '\xff\xff\xff', 400],
])('%s “%s” is refused', async (type, body, status) => {
  expect((await running.api('POST', '/v1/logs', { body, headers: { 'content-type': type } })).status).toBe(
    status,
  );
});
