import { describe, expect, it } from 'vitest';
import { type EventStreamOptions, readEvents } from '../../net/event-stream.ts';
import { KindlingError } from '../../protocol/error.ts';
import { hostileServer } from './hostile-server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
const options: EventStreamOptions = {
  code: 'KND_STUB_UNREACHABLE',
  stallMs: 300,
  backOff: { firstMs: 10, factor: 2, maxMs: 50 },
  refusal: (status) => new KindlingError('KND_API_UNAUTHENTICATED', `answered ${status}`),
};

/** Reads this many events, then stops. */
async function read(url: string, count: number, more: Partial<EventStreamOptions> = {}): Promise<string[]> {
  const stop = new AbortController();
  const data: string[] = [];
  for await (const event of readEvents({}, url, { ...options, ...more, signal: stop.signal })) {
    data.push(event.data);
    if (data.length === count) stop.abort();
  }
  return data;
}

describe('events of a server', () => {
  it('go on after the last one when the connection breaks, stalls, ends or is refused for a while', async () => {
    const asked: (string | undefined)[] = [];
    const opened: number[] = [];
    using server = await hostileServer((socket, request) => {
      asked.push(/^last-event-id: (.*)\r$/im.exec(request)?.[1]);
      switch (asked.length) {
        case 1: // breaks in the middle of an event
          return void socket.write(`${HEAD}id: 1\ndata: one\n\nid: 2\ndata: tw`, () =>
            socket.resetAndDestroy(),
          );
        case 2: // names its place and stalls
          return void socket.write(`${HEAD}id: 2\ndata: two\n\nid: 7\n\n`);
        case 3:
          return void socket.resetAndDestroy();
        case 4: // ends properly
          return void socket.end(`${HEAD}id: 8\ndata: eight\n\n`);
        default:
          return void socket.write(`${HEAD}id: 9\ndata: nine\n\n`);
      }
    });
    const lost: unknown[] = [];
    const data = await read(server.url, 4, {
      onOpen: () => void opened.push(asked.length),
      onLost: (reason) => lost.push(reason),
    });
    expect(data).toEqual(['one', 'two', 'eight', 'nine']);
    expect(asked).toEqual([undefined, '1', '7', '7', '8']);
    expect(opened).toEqual([1, 2, 4, 5]);
    expect(lost).toHaveLength(4);
  });

  it('of a server that was never there are an error, and so is a refusal at any time', async () => {
    await expect(read('http://127.0.0.1:1', 1)).rejects.toMatchObject({ code: 'KND_STUB_UNREACHABLE' });
    let connections = 0;
    using server = await hostileServer((socket) => {
      connections += 1;
      socket.end(connections === 1 ? `${HEAD}data: x\n\n` : 'HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n');
    });
    await expect(read(server.url, 2)).rejects.toMatchObject({ code: 'KND_API_UNAUTHENTICATED' });
    expect(connections).toBe(2);
  });
});
