import { createSocket } from 'node:dgram';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';

const OTHER = {
  uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c6',
  serialnum: 'OTHER1234',
  macId: '52:54:00:12:34:57',
};
let running: RunningStub;

beforeAll(async () => {
  running = await RunningStub.start({ syslogPort: 0 });
});
afterAll(() => running[Symbol.asyncDispose]());

const send = (text: string, from: string) =>
  new Promise<void>((resolve) => {
    const socket = createSocket('udp4').bind(0, from, () =>
      socket.send(text, running.stub.syslogPort ?? 0, '127.0.0.1', () => socket.close(() => resolve())),
    );
  });
const messages = async (id: string): Promise<string[]> =>
  (await running.api('GET', `/api/v1/nodes/${id}/logs`)).body.lines.map(
    ({ message }: { message: string }) => message,
  );

async function nodeAt(ip: string, knock: Partial<typeof NODE>): Promise<string> {
  const { body } = await running.api('POST', '/api/v1/nodes', { json: { uuid: knock.uuid ?? NODE.uuid } });
  await running.knock({ ...knock, hostIp: ip });
  return body.id;
}

it('a line of a node that was just deleted ends nothing', async () => {
  const id = await nodeAt('127.0.0.1', {});
  await send('<30>Jan  2 03:04:06 x a: before', '127.0.0.1');
  await expect.poll(() => messages(id)).toEqual(['before']);
  expect((await running.api('DELETE', `/api/v1/nodes/${id}`)).status).toBe(204);
  await send('<30>Jan  2 03:04:06 x a: after', '127.0.0.1');
  expect((await running.api('GET', '/healthz')).status).toBe(200);
});

it('a stranger writes into no node’s log by naming it, and dates in the future do not push real lines out', async () => {
  const id = await nodeAt('127.0.0.3', OTHER);
  for (const name of [id, OTHER.uuid])
    await send(`<30>1 2026-01-01T00:00:00Z ${name} a - - - forged`, '127.0.0.2');
  await send('<30>1 9999-01-01T00:00:00Z x a - - - from the node', '127.0.0.3');
  await expect.poll(() => messages(id)).toEqual(['from the node']);
  const { lines } = (await running.api('GET', `/api/v1/nodes/${id}/logs`)).body;
  expect(Date.parse(lines[0].time)).toBeLessThanOrEqual(Date.now());
});
