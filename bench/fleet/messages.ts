import type { TinkDialect } from '../../protocol/tink-dialect.ts';

/** What the processes of the fleet benchmark say to each other. */
export interface StubReady {
  kind: 'ready';
  url: string;
  ca: string;
  token: string;
}

export interface StubFigures {
  kind: 'figures';
  rssMb: number;
  cpuSeconds: number;
}

export interface AgentsOrder {
  server: string;
  caFile: string;
  folder: string;
  firstIndex: number;
  count: number;
  dialect: TinkDialect;
}

export interface AgentsFigures {
  kind: 'agents';
  idle: number;
  finished: number;
  failed: string[];
  /** What the agents are doing or waiting for, counted. */
  states: string[];
  requests: number;
  /** Milliseconds of requests that are answered at once (not the held ones), since the last figures. */
  latencies: number[];
}

/** UUID and MAC of the nth node. */
export function nodeOf(index: number): { uuid: string; mac: string } {
  const hex = index.toString(16).padStart(12, '0');
  return {
    uuid: `00000000-0000-4000-8000-${hex}`,
    mac: `52:54:${(hex.slice(-8).match(/../g) ?? []).join(':')}`,
  };
}
