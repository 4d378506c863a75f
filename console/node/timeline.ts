import type { WorkflowAnswer } from '../api/answers.ts';

export type SpanState = 'done' | 'running' | 'failed' | 'pending';

/** One bar of the timeline. Shares are of the whole time shown, 0–1. */
export interface Span {
  name: string;
  start: number;
  width: number;
  seconds: number | null;
  state: SpanState;
  message: string;
  attempt: number;
}

export interface Timeline {
  spans: Span[];
  totalSeconds: number;
}

const STATES: Readonly<Record<string, SpanState>> = {
  SUCCESS: 'done',
  RUNNING: 'running',
  FAILED: 'failed',
  TIMEOUT: 'failed',
};

/** A workflow as bars over time, from when it was made to the report of the installed system, or to now. */
export function timelineOf(workflow: WorkflowAnswer, firstBootAt: string | null, nowMs: number): Timeline {
  const begin = Date.parse(workflow.createdAt);
  const isOver = workflow.finishedAt !== null;
  const isBooting = workflow.state === 'SUCCESS' && workflow.generation > 0;
  const bootEnd = isBooting && firstBootAt ? Date.parse(firstBootAt) : undefined;
  const end = Math.max(
    begin + 1000,
    bootEnd ?? (isOver && !isBooting ? Date.parse(workflow.finishedAt ?? '') : nowMs),
  );
  const share = (ms: number) => Math.min(1, Math.max(0, (ms - begin) / (end - begin)));
  const span = (name: string, from: number | null, to: number | null, rest: Partial<Span>): Span => ({
    name,
    start: from === null ? 1 : share(from),
    width: from === null ? 0 : share(to ?? end) - share(from),
    seconds: from === null ? null : Math.max(0, Math.round(((to ?? end) - from) / 1000)),
    state: 'pending',
    message: '',
    attempt: 1,
    ...rest,
  });
  const startedAt = parse(workflow.startedAt);
  const spans = [
    span('waiting for the machine', begin, startedAt, {
      state: startedAt === null && !isOver ? 'running' : 'done',
    }),
    ...workflow.actions.map(({ name, state, startedAt: from, stoppedAt, message, attempt }) =>
      span(name, parse(from), parse(stoppedAt), { state: STATES[state] ?? 'pending', message, attempt }),
    ),
    ...(isBooting
      ? [
          span('first boot', parse(workflow.finishedAt), bootEnd ?? null, {
            state: bootEnd ? 'done' : 'running',
          }),
        ]
      : []),
  ];
  return { spans, totalSeconds: Math.round((end - begin) / 1000) };
}

function parse(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}
