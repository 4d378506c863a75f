import { encodeMetrics, type MetricType, type Sample } from '../../formats/prometheus.ts';
import type { FloorTable } from '../floor/floor-table.ts';
import type { RequestFigures } from './request-figures.ts';

export interface MetricsParts {
  version: string;
  table: Pick<FloorTable, 'countByStatus' | 'countByStage' | 'countByReason' | 'oldestByStatus'>;
  requests: RequestFigures;
  /** Watchers of events, and calls of agents that are held until there is work. */
  waiting: () => { watchers: number; heldCalls: number };
  now: () => Date;
}

interface Metric {
  type: MetricType;
  help: string;
  labels: readonly string[];
  samples: (name: string, parts: MetricsParts) => Sample[] | Promise<Sample[]>;
}

/** Everything at GET /metrics, in order; docs/reference/metrics.md is made from it. Names are added, never renamed. */
export const METRICS = {
  kindling_build_info: {
    type: 'gauge',
    help: 'Always 1; the version is a label.',
    labels: ['version'],
    samples: (name, { version }) => [{ name, labels: { version }, value: 1 }],
  },
  kindling_nodes: {
    type: 'gauge',
    help: 'Nodes by status and the group that the status belongs to.',
    labels: ['group', 'status'],
    samples: async (name, { table }) =>
      (await table.countByStatus()).map(({ group, status, count }) => ({
        name,
        labels: { group, status },
        value: count,
      })),
  },
  kindling_nodes_in_stage: {
    type: 'gauge',
    help: 'Nodes at work, by the stage they are in.',
    labels: ['stage'],
    samples: async (name, { table }) => countsBy(name, 'stage', await table.countByStage()),
  },
  kindling_nodes_with_reason: {
    type: 'gauge',
    help: 'Nodes that need a hand, by the error code that says why.',
    labels: ['code'],
    samples: async (name, { table }) => countsBy(name, 'code', await table.countByReason()),
  },
  kindling_longest_in_status_seconds: {
    type: 'gauge',
    help: 'How long the node that has a status longest has had it.',
    labels: ['status'],
    samples: async (name, { table, now }) =>
      (await table.oldestByStatus()).map(({ status, since }) => ({
        name,
        labels: { status },
        value: Math.max(0, Math.round((now().getTime() - Date.parse(since)) / 1000)),
      })),
  },
  kindling_http_requests_total: {
    type: 'counter',
    help: 'Answers over HTTP since the start, by route and status. The route "none" is every address that does not exist.',
    labels: ['method', 'route', 'status'],
    samples: (name, { requests }) => requests.counts(name),
  },
  kindling_http_request_seconds: {
    type: 'histogram',
    help: 'Seconds from a request to the end of its answer. A stream of events ends when its watcher leaves.',
    labels: ['route', 'le'],
    samples: (name, { requests }) => requests.times(name),
  },
  kindling_event_watchers: {
    type: 'gauge',
    help: 'Connections that watch events.',
    labels: [],
    samples: (name, { waiting }) => [{ name, value: waiting().watchers }],
  },
  kindling_held_calls: {
    type: 'gauge',
    help: 'Calls of agents that are held until there is work for them.',
    labels: [],
    samples: (name, { waiting }) => [{ name, value: waiting().heldCalls }],
  },
  process_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of the orchestrator, in seconds.',
    labels: [],
    samples: (name) => {
      const { user, system } = process.cpuUsage();
      return [{ name, value: (user + system) / 1e6 }];
    },
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Memory of the orchestrator, in bytes.',
    labels: [],
    samples: (name) => [{ name, value: process.memoryUsage.rss() }],
  },
} as const satisfies Record<string, Metric>;

function countsBy(name: string, label: string, rows: readonly { value: string; count: number }[]): Sample[] {
  return rows.map(({ value, count }) => ({ name, labels: { [label]: value }, value: count }));
}

export async function readMetrics(parts: MetricsParts): Promise<string> {
  const families = await Promise.all(
    (Object.entries(METRICS) as [string, Metric][]).map(async ([name, { type, help, samples }]) => ({
      name,
      type,
      help,
      samples: await samples(name, parts),
    })),
  );
  return encodeMetrics(families);
}
