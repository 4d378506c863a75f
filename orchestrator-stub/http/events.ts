import type { IncomingMessage } from 'node:http';
import type { RawRoute } from '../../net/server/route.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { EventBus, StubEvent } from '../events/bus.ts';
import type { People } from '../people/people.ts';

export interface EventRouteParts {
  bus: EventBus;
  people: Pick<People, 'onLoss'>;
  /** Rejects once the watcher has lost its right to watch. */
  authorize: (request: IncomingMessage, route: RawRoute) => Promise<unknown>;
}

const HEARTBEAT_MS = 15_000;
/** A watcher that does not read gets cut off: it reconnects with Last-Event-ID and misses nothing that is still kept. */
const MAX_BACKLOG_BYTES = 1024 * 1024;

type EventType = StubEvent['type'];

/** Rows of the floor and steps of an import say again what the other events say: only who asks for them gets them. */
const DEFAULT_TYPES: readonly EventType[] = ['node', 'workflow', 'log', 'netboot'];
const TYPES: readonly string[] = [...DEFAULT_TYPES, 'floor', 'import'];

/**
 * Server-sent events: everything that changes, as it changes; `?node=` narrows it to one node, `?types=` to some kinds. Who watches
 * the floor and was away for longer than events are kept is told so first (`missed`), and looks at everything again.
 */
export function eventRoute({ bus, people, authorize }: EventRouteParts): RawRoute {
  const route: RawRoute = {
    method: 'GET',
    path: '/api/v1/events',
    access: 'person',
    answer: ({ request, response, query }) => {
      const node = query.get('node');
      const types = typesOf(query.get('types'));
      const after = Number(request.headers['last-event-id'] ?? query.get('after') ?? Number.NaN);
      const lastId = Number.isFinite(after) ? after : bus.lastId;
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      if (request.method === 'HEAD') return void response.end();
      // Without an event yet a watcher knows its place all the same, and misses nothing should it have to come back.
      response.write(`retry: 2000\nid: ${lastId}\n\n`);
      if (types.includes('floor') && bus.hasForgotten(lastId)) {
        response.write('event: missed\ndata: {"type":"missed"}\n\n');
      }
      const stop = bus.subscribe(({ id, at, event }) => {
        if ((node && event.nodeId !== node) || !types.includes(event.type)) return;
        if (response.writableLength > MAX_BACKLOG_BYTES) return response.destroy();
        response.write(`id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify({ at, ...event })}\n\n`);
        return;
      }, lastId);
      // Watching outlives the call: a token that ends, or a person who is disabled, ends it too.
      const checkAccess = () => void authorize(request, route).catch(() => response.end());
      const stopChecks = people.onLoss(checkAccess);
      const heartbeat = setInterval(() => {
        response.write(': still here\n\n');
        checkAccess();
      }, HEARTBEAT_MS);
      response.on('close', () => {
        clearInterval(heartbeat);
        stopChecks();
        stop();
      });
    },
  };
  return route;
}

function typesOf(wanted: string | null): readonly string[] {
  if (wanted === null) return DEFAULT_TYPES;
  const types = wanted.split(',');
  const stranger = types.find((type) => !TYPES.includes(type));
  if (stranger !== undefined) {
    throw new KindlingError(
      'KND_API_INVALID',
      `query.types: there are ${TYPES.join(', ')}, not "${stranger}"`,
    );
  }
  return types;
}
