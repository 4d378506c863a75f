import type { StubEvent } from '../../orchestrator-stub/events/bus.ts';
import type { NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import { type ConnectionOptions, ServerConnection } from '../server-connection.ts';
import { printable } from '../table.ts';
import { nodePath } from './node-path.ts';
import { SilenceWatch } from './silence.ts';

interface WatchOptions extends ConnectionOptions {
  until?: string;
  timeout?: string;
}

/** Prints events as they come; with --until it ends when the node gets there. */
export async function watchNodes(node: string | undefined, options: WatchOptions): Promise<void> {
  const { until, timeout } = options;
  const connection = new ServerConnection(options);
  const late = timeout === undefined ? undefined : deadlineIn(timeout);
  const arrived = new AbortController();
  const take = (status: string) => {
    if (until && status.toLowerCase().startsWith(until.toLowerCase())) arrived.abort();
  };
  const show = (key: string) => connection.call<NodeView>('GET', nodePath(key));
  const id = node === undefined ? undefined : (await show(node)).id;
  const events = connection.events(`/api/v1/events${id === undefined ? '' : `?node=${id}`}`, {
    signal: AbortSignal.any([arrived.signal, ...(late ? [late] : [])]),
    // Asked once per connection, when it listens already: what happened before, or between two connections, is in the answer.
    onOpen: async () => {
      if (until && id !== undefined) take((await show(id)).status);
    },
    onLost: (reason, pauseMs) => {
      const seconds = Math.ceil(pauseMs / 1000);
      console.error(`${toErrorReport(reason).message}; asking again in ${seconds} s`);
    },
  });
  const silences = new SilenceWatch();
  using _telling = tellSilences(silences, options.output);
  for await (const { data } of events) {
    const event = data as StubEvent & { at: string };
    if (event.type === 'workflow') silences.heard(event.nodeId, event.state === 'RUNNING', Date.now());
    console.log(options.output === 'json' ? JSON.stringify(event) : printable(describe(event)));
    if (event.type !== 'node' || event.nodeId !== id) continue;
    take(event.status);
    if (event.change !== 'deleted') continue;
    if (!until) return;
    throw new KindlingError('KND_NODE_UNKNOWN', `${node} was deleted before it was "${until}"`);
  }
  if (!until || arrived.signal.aborted) return;
  const now = id === undefined ? 'no node' : `${node} is still "${(await show(id)).status}", not`;
  throw new KindlingError('KND_TIMEOUT', `after ${timeout} s ${now} "${until}"`, {
    hint: 'What counts is how the status begins, as "kindling node list" shows it: Running, say.',
  });
}

const LOOK_EVERY_MS = 5000;

function tellSilences(silences: SilenceWatch, output: ConnectionOptions['output']): Disposable {
  const timer = setInterval(() => {
    if (output === 'table') for (const line of silences.due(Date.now())) console.log(line);
  }, LOOK_EVERY_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export function deadlineIn(seconds: string): AbortSignal {
  if (!/^\d+(\.\d+)?$/.test(seconds))
    throw new KindlingError('KND_USAGE', `--timeout is a number of seconds, not ${seconds}`);
  return AbortSignal.timeout(Number(seconds) * 1000);
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
    case 'floor':
      return `${start} ${event.node?.statusText ?? 'Deleted'}`;
    case 'import':
      return `${event.at} import ${event.importId} ${event.state}: ${event.done} of ${event.wanted}`;
  }
}
