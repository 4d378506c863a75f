import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createHttpServer } from '../../net/server/http-server.ts';
import { type Listener, listenPlain } from '../../net/server/listener.ts';
import { apiRoute } from '../../net/server/route.ts';
import { staticRoute } from '../../net/server/static-files.ts';
import { Slots } from '../../net/slots.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-slow-'));
let listener: Listener;
let http: Server;

beforeAll(async () => {
  writeFileSync(join(folder, 'initramfs'), Buffer.alloc(64 * 1024 * 1024));
  http = createHttpServer({
    api: [
      apiRoute({
        method: 'POST',
        path: '/echo',
        access: 'anyone',
        tag: 'x',
        operationId: 'echo',
        summary: 'x',
        body: z.object({}),
        answer: z.object({}),
        handle: ({ body }) => body,
      }),
    ],
    raw: [staticRoute('/files', [folder])],
    authorize: async () => undefined,
    onFailure: () => {},
    timeouts: { headersMs: 300, requestMs: 600, silenceMs: 500, checkMs: 100 },
  });
  listener = await listenPlain({ http, grpc: (socket) => socket.destroy() }, { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await listener.close();
  rmSync(folder, { recursive: true });
});

async function open(text: string): Promise<Socket> {
  const socket = connect(listener.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(text);
  return socket;
}

it.each([
  ['headers that never end', 'GET /files/initramfs HTTP/1.1\r\nHost: localhost\r\nX: '],
  [
    'a body that never ends',
    'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
  ],
])('%s: the connection is cut', async (_what, text) => {
  const socket = await open(text);
  // A byte now and then, so that silence is not what ends it.
  const drip = setInterval(() => socket.write(' '), 100);
  socket.resume();
  await once(socket, 'close');
  clearInterval(drip);
});

it('a client that asks for a file and reads nothing is cut off', async () => {
  const accepted = once(http, 'connection') as Promise<[Socket]>;
  const socket = await open('GET /files/initramfs HTTP/1.1\r\nHost: localhost\r\n\r\n');
  socket.pause();
  const [served] = await accepted;
  await once(served, 'close');
  expect(served.bytesWritten).toBeLessThan(64 * 1024 * 1024);
  socket.destroy();
});

it('the connection that was silent longest makes room, one that has asked stays', async () => {
  const few = await listenPlain(
    { http, grpc: (socket) => socket.destroy() },
    { host: '127.0.0.1', port: 0, mostSilent: 2 },
  );
  const connectTo = async () => {
    const accepted = once(http, 'connection') as Promise<[Socket]>;
    const socket = connect(few.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write('P'); // a connection is handed on with its first byte
    return { socket, served: (await accepted)[0] };
  };
  try {
    const asks = connect(few.port, '127.0.0.1').resume();
    asks.write('POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
    asks.write('Content-Length: 2\r\n\r\n{}');
    await once(asks, 'data');
    const first = await connectTo();
    const second = await connectTo();
    const isGone = once(first.served, 'close');
    const third = await connectTo();
    await isGone;
    expect([asks.readyState, second.served.destroyed, third.served.destroyed]).toEqual([
      'open',
      false,
      false,
    ]);
  } finally {
    await few.close();
  }
});

it('slots are limited per address and in all, and come back', () => {
  const slots = new Slots({ inAll: 3, perAddress: 2 });
  const first = slots.take('10.0.0.1');
  expect(slots.take('10.0.0.1')).toBeDefined();
  expect(slots.take('10.0.0.1')).toBeUndefined();
  expect(slots.take('2001:db8::1')).toBeDefined();
  expect(slots.take('2001:db8::2'), 'all taken').toBeUndefined();
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  expect(slots.take('2001:db8:0:0:ffff::2')).toBeDefined();
  expect(slots.take('10.0.0.2'), 'given back once').toBeUndefined();
});
