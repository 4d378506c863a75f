import type { ErrorReport } from './error.ts';

/**
 * What an action tells the agent that runs it: one JSON object per line on file descriptor 3
 * (or on the descriptor that KINDLING_EVENTS_FD names). Standard output and error stay free for logs.
 */
export type ActionEvent =
  | { type: 'plan'; hash: string; summary: string[]; plan: unknown }
  | ProgressEvent
  | {
      type: 'log';
      level: 'debug' | 'info' | 'warn' | 'error';
      message: string;
      fields?: Record<string, unknown>;
    }
  | { type: 'result'; summary: string; data?: Record<string, unknown>; handOver?: HandOver }
  | { type: 'error'; error: ErrorReport };

/** How the machine leaves the Micro-OS. The agent does it only after the server acknowledged the action's success. */
export type HandOver = { kind: 'reboot' } | { kind: 'poweroff' } | { kind: 'kexec' };

export interface ProgressEvent {
  type: 'progress';
  /** What is being done, for a person: "writing image", "erasing nvme0n1". */
  stage: string;
  /** 0–100 over the whole action, sync included; absent while it cannot be known. */
  percent?: number;
  etaSeconds?: number;
  /** Free figures: bytesFetched, bytesWritten, rates, bottleneck. */
  figures?: Record<string, number | string>;
}

/** Serializes one event as one line. */
export function encodeActionEvent(event: ActionEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** Reads one line of the pipe; undefined for a line that is no event, so that stray output cannot end a workflow. */
export function decodeActionEvent(line: string): ActionEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('type' in value)) return undefined;
    const known = ['plan', 'progress', 'log', 'result', 'error'];
    return known.includes(String(value.type)) ? (value as ActionEvent) : undefined;
  } catch {
    return undefined;
  }
}
