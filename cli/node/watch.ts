import type { StubEvent } from '../../orchestrator-stub/events/bus.ts';
import type { NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type ConnectionOptions, ServerConnection } from '../server-connection.ts';

interface WatchOptions extends ConnectionOptions {
  until?: string;
  timeout?: string;
}

/** Prints events as they come; with --until it ends when the node gets there. */
export async function watchNodes(node: string | undefined, options: WatchOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const timeout = options.timeout ? AbortSignal.timeout(Number(options.timeout) * 1000) : undefined;
  const found = node
    ? await connection.call<NodeView>('GET', `/api/v1/nodes/${encodeURIComponent(node)}`)
    : undefined;
  const stream = connection.events(`/api/v1/events${found ? `?node=${found.id}` : ''}`, timeout);
  const first = stream.next();
  if (found && (await hasArrived(connection, found.id, options))) return;
  for (let next = await first; !next.done; next = await stream.next()) {
    const event = next.value.data as StubEvent & { at: string };
    console.log(options.output === 'json' ? JSON.stringify(event) : describe(event));
    if (found && event.type !== 'log' && (await hasArrived(connection, found.id, options))) return;
  }
  if (options.until) {
    throw new KindlingError(
      'KND_TIMEOUT',
      `${node ?? 'the node'} is not «${options.until}» after ${options.timeout} s`,
    );
  }
}

async function hasArrived(
  connection: ServerConnection,
  id: string,
  { until }: WatchOptions,
): Promise<boolean> {
  if (!until) return false;
  const { status } = await connection.call<NodeView>('GET', `/api/v1/nodes/${id}`);
  return status.toLowerCase().startsWith(until.toLowerCase());
}

function describe(event: StubEvent & { at: string }): string {
  const start = `${event.at} ${event.nodeId}`;
  switch (event.type) {
    case 'node':
      return `${start} ${event.change}: ${event.status}`;
    case 'workflow': {
      const at = `${event.index + 1}/${event.total} ${event.action} ${event.actionState}`;
      return `${start} workflow ${event.state}: ${at}${event.message ? `: ${event.message}` : ''}`;
    }
    case 'log':
      return `${start} ${event.lines.length} log lines`;
    case 'netboot':
      return `${event.at} ${event.client} ${event.step}: ${event.what}`;
  }
}
