import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HandOver } from '../../protocol/action-events.ts';
import type { StatusReport, Work } from './work.ts';

/** How an action ended, as it is reported; kept until the server has it. */
export type Outcome = Required<StatusReport> & {
  state: 'success' | 'failed' | 'timeout';
  /** What is to be done once the server knows. */
  handOver?: HandOver;
  /** The action itself, if it is only run once the server knows. */
  afterwards?: Work;
};

/** What the journal knows about one action. */
export interface JournalEntry {
  attempt: number;
  /** Absent while it runs, or if the agent died meanwhile. */
  outcome?: Outcome;
  isReported: boolean;
  /** What is run after the report was begun: it may have restarted the machine, and is not begun again. */
  hasBegun?: boolean;
}

type Line =
  | { event: 'started'; key: string; attempt: number; at: string }
  | { event: 'finished'; key: string; outcome: Outcome; at: string }
  | { event: 'reported' | 'begun'; key: string; at: string };

/**
 * What was started, finished and reported: one JSON line each, appended before the next step is taken, so that an agent that was
 * killed at any point knows where it was.
 */
export class Journal {
  readonly #path: string;
  readonly #entries = new Map<string, JournalEntry>();
  #lastKey = '';

  constructor(path: string) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true });
    for (const line of readLines(path)) this.#apply(line);
  }

  find(work: Work): JournalEntry | undefined {
    return this.#entries.get(keyOf(work));
  }

  /** The agent died between the server's acknowledgment and the hand-over: nobody else would do it. */
  pendingHandOver(): HandOver | undefined {
    const last = this.#entries.get(this.#lastKey);
    return last?.isReported ? last.outcome?.handOver : undefined;
  }

  /** The same for an action that is run after its report. */
  pendingWork(): Work | undefined {
    const last = this.#entries.get(this.#lastKey);
    return last?.isReported && !last.hasBegun ? last.outcome?.afterwards : undefined;
  }

  /** Notes the start and gives the number of this attempt. */
  started(work: Work): number {
    const previous = this.find(work);
    const attempt = previous && !previous.isReported ? previous.attempt + 1 : 1;
    this.#append({ event: 'started', key: keyOf(work), attempt, at: now() });
    return attempt;
  }

  finished(work: Work, outcome: Outcome): void {
    this.#append({ event: 'finished', key: keyOf(work), outcome, at: now() });
  }

  reported(work: Work): void {
    this.#append({ event: 'reported', key: keyOf(work), at: now() });
  }

  begun(work: Work): void {
    this.#append({ event: 'begun', key: keyOf(work), at: now() });
  }

  #append(line: Line): void {
    // The line before may be cut off (RAM was full, the agent was killed): this one must not become the end of it.
    appendFileSync(this.#path, `\n${JSON.stringify(line)}\n`, { mode: 0o600 });
    this.#apply(line);
  }

  #apply(line: Line): void {
    this.#lastKey = line.key;
    if (line.event === 'started') {
      this.#entries.set(line.key, { attempt: line.attempt, isReported: false });
      return;
    }
    const entry = this.#entries.get(line.key) ?? { attempt: 1, isReported: false };
    const change =
      line.event === 'finished'
        ? { outcome: line.outcome }
        : line.event === 'reported'
          ? { isReported: true }
          : { hasBegun: true };
    this.#entries.set(line.key, { ...entry, ...change });
  }
}

export type Decision =
  | { kind: 'run' }
  | { kind: 'report-again'; outcome: Outcome }
  /** It was running when the agent died, and must not be run twice. */
  | { kind: 'interrupted' };

/** What to do about an action the server wants done, given what the journal remembers of it. */
export function decideResume(work: Work, entry: JournalEntry | undefined, mayRunAgain: boolean): Decision {
  if (!entry) return { kind: 'run' };
  if (entry.outcome) {
    // Reported and accepted, and yet the server wants it done: a workflow of the same name was started anew. Unless it says
    // that it is still waiting for the end: then it has lost our report.
    const isNewRun = entry.isReported && work.serverState !== 'running';
    return isNewRun ? { kind: 'run' } : { kind: 'report-again', outcome: entry.outcome };
  }
  return mayRunAgain ? { kind: 'run' } : { kind: 'interrupted' };
}

function keyOf({ workflowId, taskId, actionId }: Work): string {
  return JSON.stringify([workflowId, taskId, actionId]);
}

function readLines(path: string): Line[] {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  return content.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      return []; // empty, or cut off: see #append
    }
  });
}

function now(): string {
  return new Date().toISOString();
}
