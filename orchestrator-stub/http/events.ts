import type { RawRoute } from '../../net/server/route.ts';
import type { EventBus } from '../events/bus.ts';

const HEARTBEAT_MS = 15_000;
/** A watcher that does not read gets cut off: it reconnects with Last-Event-ID and misses nothing that is still kept. */
const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Server-sent events: everything that changes, as it changes; `?node=` narrows it to one node. */
export function eventRoute(bus: EventBus): RawRoute {
  return {
    method: 'GET',
    path: '/api/v1/events',
    access: 'operator',
    answer: ({ request, response, query }) => {
      const node = query.get('node');
      const after = Number(request.headers['last-event-id'] ?? query.get('after') ?? Number.NaN);
      const lastId = Number.isFinite(after) ? after : bus.lastId;
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      // Without an event yet a watcher knows its place all the same, and misses nothing should it have to come back.
      response.write(`retry: 2000\nid: ${lastId}\n\n`);
      const stop = bus.subscribe(({ id, at, event }) => {
        if (node && event.nodeId !== node) return;
        if (response.writableLength > MAX_BACKLOG_BYTES) return response.destroy();
        response.write(`id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify({ at, ...event })}\n\n`);
        return;
      }, lastId);
      const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS);
      response.on('close', () => {
        clearInterval(heartbeat);
        stop();
      });
    },
  };
}
