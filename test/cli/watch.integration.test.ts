import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchNodes } from '../../cli/node/watch.ts';
import { openResponse } from '../../net/http.ts';
import { EventBus, type StubEvent } from '../../orchestrator-stub/events/bus.ts';
import { eventRoute } from '../../orchestrator-stub/http/events.ts';
import { LocalMessenger } from '../../orchestrator-stub/store/local-messenger.ts';
import { toHostId } from '../../protocol/ids.ts';

const node = (status: string): StubEvent => ({
  type: 'node',
  nodeId: toHostId('host-1'),
  change: 'changed',
  status,
});
const rethrow = (thrown: unknown) => {
  throw thrown;
};
const newBus = () => new EventBus(new LocalMessenger(rethrow));

let bus: EventBus;
let server: Server;
let port: number;
let status: string;
/** Requests for the node, and connections for events. */
let asked: { node: number; events: number };
let lines: string[];

async function start(): Promise<void> {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    if (url.pathname !== '/api/v1/events') {
      asked.node += 1;
      response.end(JSON.stringify({ id: 'host-1', status }));
      return;
    }
    asked.events += 1;
    const route = eventRoute({
      bus,
      people: { onLoss: () => () => {} },
      authorize: async () => undefined,
    });
    void route.answer({ request, response, query: url.searchParams } as Parameters<
      ReturnType<typeof eventRoute>['answer']
    >[0]);
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
}

async function stop(): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

beforeEach(async () => {
  [bus, port, status, asked, lines] = [newBus(), 0, 'Onboarding', { node: 0, events: 0 }, []];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation(() => {});
  await start();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await stop();
});

const watch = (more: { until?: string; timeout?: string }) =>
  watchNodes('till-7', {
    server: `http://127.0.0.1:${port}`,
    state: '/nonexistent',
    output: 'table',
    ...more,
  });
/** Until an event has come through the nth connection: what happens from then on happens to somebody who watches. */
async function listening(connections: number): Promise<void> {
  await vi.waitFor(() => expect(asked.events).toBe(connections), 10_000);
  bus.publish(node(`Listening ${connections}`));
  await vi.waitFor(() => expect(seen()).toContain(`Listening ${connections}`), 10_000);
}
const seen = () => lines.map((line) => line.split(': ').at(-1));

test('the events say when the node is there: nobody is asked once per event', async () => {
  const watching = watch({ until: 'running' });
  await listening(1);
  for (let index = 0; index < 200; index += 1) bus.publish(node(`Writing ${index}`));
  bus.publish(node('Running'));
  await watching;
  expect(lines).toHaveLength(202);
  expect(asked).toEqual({ node: 2, events: 1 });
});

test('a node that was there already needs no event', async () => {
  status = 'Running';
  await watch({ until: 'running', timeout: '30' });
  expect(lines).toEqual([]);
});

test('after a restart of the orchestrator no event is missed', async () => {
  const watching = watch({ until: 'running' });
  await listening(1);
  await stop();
  bus = newBus(); // the ids go on from the clock
  bus.publish(node('Rebooting'));
  await start();
  await listening(2);
  bus.publish(node('Running'));
  await watching;
  expect(seen()).toEqual(['Listening 1', 'Rebooting', 'Listening 2', 'Running']);
});

test('a watcher knows its place in the stream before the first event', async () => {
  bus.publish(node('Long ago'));
  const response = await openResponse({}, `http://127.0.0.1:${port}/api/v1/events`);
  for await (const piece of response.pieces()) {
    expect(piece.toString()).toBe(`retry: 2000\nid: ${bus.lastId}\n\n`);
    break;
  }
});

test('what the node became while nobody could be asked ends the wait too', async () => {
  const watching = watch({ until: 'running' });
  await listening(1);
  await stop();
  [bus, status] = [newBus(), 'Running'];
  await start();
  await watching;
  expect(asked).toEqual({ node: 3, events: 2 });
});

test('a node that is deleted ends the watching', async () => {
  const watching = watch({});
  await listening(1);
  bus.publish({ type: 'node', nodeId: toHostId('host-1'), change: 'deleted', status: 'Deleted' });
  await watching;
  expect(lines.at(-1)).toContain('deleted: Deleted');
});

test('the closing message names the time that was given, and there is none without a time', async () => {
  await expect(watch({ until: 'running', timeout: '0.2' })).rejects.toMatchObject({
    code: 'KND_TIMEOUT',
    message: 'after 0.2 s till-7 is still "Onboarding", not "running"',
  });
  await expect(watch({ until: 'running', timeout: 'soon' })).rejects.toMatchObject({ code: 'KND_USAGE' });
  const before = asked.events;
  const watching = watch({ until: 'running' });
  await listening(before + 1);
  await stop(); // once the end of the stream, and so of the wait: "after undefined s"
  await start();
  await listening(before + 2);
  bus.publish(node('Running'));
  await expect(watching).resolves.toBeUndefined();
});
