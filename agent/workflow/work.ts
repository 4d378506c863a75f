import type { TinkDialect } from '../../protocol/tink-dialect.ts';

/** One action the server wants done, in the words of neither dialect. */
export interface Work {
  dialect: TinkDialect;
  /** Opaque; may contain a slash. */
  workflowId: string;
  /** Legacy: the task's name. Current: its ULID. */
  taskId: string;
  /** Legacy: the action's name. Current: its ULID. */
  actionId: string;
  name: string;
  image: string;
  /** 0 means: has timed out before it started (current dialect). */
  timeoutMs: number;
  command: string[];
  volumes: string[];
  environment: Record<string, string>;
  pidNamespace?: string;
  networkNamespace?: string;
  /** What the server believes, where it tells. */
  serverState: 'pending' | 'running' | 'unknown';
  /** Place in the workflow, counted from 0, where the server tells. */
  index?: number;
  total?: number;
}

export interface StatusReport {
  state: 'running' | 'success' | 'failed' | 'timeout';
  message: string;
  startedAt: number;
  stoppedAt?: number;
}

/** Accepted, or the server is already past this action (or has forgotten the workflow): either way, no need to repeat it. */
export type ReportAnswer = 'accepted' | 'superseded';

/** A workflow server in either dialect. Every method is one try; errors are grpc-js' or ours. */
export interface WorkflowServer {
  readonly dialect: TinkDialect;
  /** Whether a repeated RUNNING report with a new text is stored, and harmless. */
  readonly storesProgress: boolean;
  /** The action to run now, or undefined if there is none. May take a minute (current dialect). */
  nextAction(signal?: AbortSignal): Promise<Work | undefined>;
  report(work: Work, report: StatusReport): Promise<ReportAnswer>;
}

/** `K=V` lines as a record; a value may be empty and may contain `=` and line ends. */
export function parseEnvironment(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const equals = entry.indexOf('=');
      return equals < 0 ? [entry, ''] : [entry.slice(0, equals), entry.slice(equals + 1)];
    }),
  );
}
