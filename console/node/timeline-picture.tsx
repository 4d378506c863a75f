import { useComputed } from '@preact/signals';
import type { WorkflowAnswer } from '../api/answers.ts';
import { nowMs } from '../live/clock.ts';
import { plainText } from '../words/plain-text.ts';
import { countdown, duration } from '../words/time.ts';
import { type Span, type SpanState, timelineOf } from './timeline.ts';

const MARKS: Readonly<Record<SpanState, string>> = { done: '✓', running: '●', failed: '▲', pending: '○' };
const SPOKEN: Readonly<Record<SpanState, string>> = {
  done: 'done',
  running: 'running',
  failed: 'failed',
  pending: 'not begun',
};

/** Every action as a bar over time, with its seconds. */
export function TimelinePicture({
  workflow,
  firstBootAt,
}: {
  workflow: WorkflowAnswer;
  firstBootAt: string | null;
}) {
  const line = useComputed(() => timelineOf(workflow, firstBootAt, nowMs.value));
  const { spans, totalSeconds } = line.value;
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">
        {workflow.template} <span class="count">{duration(totalSeconds)}</span>
      </h2>
      <ol>
        {spans.map((span) => (
          <SpanLine key={span.name} span={span} />
        ))}
      </ol>
    </section>
  );
}

function SpanLine({ span }: { span: Span }) {
  const { name, start, width, seconds, state, message, attempt } = span;
  return (
    <li class={`span ${state}`} title={plainText(message, 500)}>
      <span class="span-name">
        <span aria-hidden="true" class="mark">
          {MARKS[state]}
        </span>{' '}
        <bdi>{plainText(name, 80)}</bdi>
        {attempt > 1 && <span class="attempt"> try {attempt}</span>}
        <span class="spoken">, {SPOKEN[state]}</span>
      </span>
      <span class="track" aria-hidden="true">
        <span class="stretch" style={{ left: `${start * 100}%`, width: `${Math.max(width * 100, 0.3)}%` }} />
      </span>
      <span class="seconds">
        {seconds === null ? '' : seconds < 60 ? `${seconds} s` : countdown(seconds)}
      </span>
      {state === 'failed' && message !== '' && <bdi class="span-message">{plainText(message, 1000)}</bdi>}
    </li>
  );
}
