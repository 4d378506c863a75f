import { batch, signal } from '@preact/signals';
import type { FloorSummary } from '../../protocol/floor.ts';
import type { ImportAnswer, ImportEvent, ImportRow, ImportSummary } from '../../protocol/imports.ts';
import { call, Problem } from '../api/call.ts';
import { readEvents } from '../api/events.ts';
import { beforeNextFrame } from '../live/next-frame.ts';
import { pause } from '../live/pause.ts';
import { type ShownProblem, shownProblem } from '../parts/problem-text.tsx';

const AGAIN_MS = 1000;

/** One import as the page knows it. */
export class ImportFacts {
  readonly summary = signal<ImportSummary | undefined>(undefined);
  readonly columns = signal<readonly string[]>([]);
  readonly rows = signal<readonly ImportRow[]>([]);
  readonly problem = signal<ShownProblem | undefined>(undefined);
}

/** Keeps the facts true until the signal: 1 the id of the last event  2 the import  3 every step after that id. */
export async function followImport(id: string, facts: ImportFacts, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    try {
      const { eventId } = await call<FloorSummary>('GET', '/api/v1/floor', { signal: until });
      await look(id, facts, until);
      await followSteps(id, facts, eventId, until);
    } catch (thrown) {
      if (until.aborted) return;
      if (thrown instanceof Problem && thrown.status >= 400 && thrown.status < 500) {
        facts.problem.value = shownProblem(thrown);
        return;
      }
      // The header says that the server is away; this page goes on when it is back.
      await pause(AGAIN_MS, until);
    }
  }
}

async function look(id: string, facts: ImportFacts, until: AbortSignal): Promise<void> {
  const answer = await call<ImportAnswer>('GET', `/api/v1/imports/${encodeURIComponent(id)}`, {
    signal: until,
  });
  batch(() => {
    facts.summary.value = answer;
    facts.columns.value = answer.columns;
    facts.rows.value = answer.rows;
  });
}

async function followSteps(id: string, facts: ImportFacts, eventId: number, until: AbortSignal) {
  const waiting: ImportEvent[] = [];
  for await (const { type, data } of readEvents(`/api/v1/events?types=import&after=${eventId}`, until)) {
    if (type !== 'import') continue;
    const step = JSON.parse(data) as ImportEvent;
    if (step.importId !== id) continue;
    // The counts of a state that has changed are in the answer of the server.
    if (step.row === null) await look(id, facts, until);
    else if (waiting.push(step) === 1) beforeNextFrame(() => applySteps(facts, waiting.splice(0)));
  }
}

/** Steps that the answer had already change nothing. */
function applySteps(facts: ImportFacts, steps: readonly ImportEvent[]): void {
  const byLine = new Map(steps.flatMap(({ row }) => (row ? [[row.line, row] as const] : [])));
  const last = steps.at(-1);
  const now = facts.summary.peek();
  if (!last || !now || now.state !== 'running') return;
  batch(() => {
    facts.rows.value = facts.rows.peek().map((row) => ({ ...row, ...byLine.get(row.line) }));
    facts.summary.value = { ...now, done: Math.max(now.done, last.done) };
  });
}
