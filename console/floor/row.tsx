import { type Signal, useComputed } from '@preact/signals';
import type { FloorNode } from '../../protocol/floor.ts';
import { may, rights } from '../api/session.ts';
import { nowMs } from '../live/clock.ts';
import { link, summary } from '../live/floor-state.ts';
import { ErrorCode } from '../parts/error-code.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { Ago } from '../parts/since.tsx';
import { ACTIONS, wayOn } from '../words/action-table.ts';
import { lastSix, nodeTitle } from '../words/node-words.ts';
import { paceOf, usualTime } from '../words/pace.ts';
import { plainText } from '../words/plain-text.ts';
import { sentenceCase } from '../words/sentence-case.ts';
import { LabelButton } from './label.tsx';
import { pending } from './pending.ts';
import { ProgressBar, stageWords } from './progress-bar.tsx';
import { begin } from './question.tsx';
import { selected, toggle } from './selection.ts';

/** One machine: where it is, what it is called, how far it is, and what it needs. */
export function Row({ of }: { of: Signal<FloorNode> }) {
  const node = of.value;
  const isSelected = useComputed(() => selected.value.has(of.value.id));
  return (
    <li class={`row ${node.group}`} id={rowId(node.id)}>
      <label class="tick">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={`Select ${nodeTitle(node)}`}
          onChange={() => toggle(node.id)}
        />
      </label>
      <span class="place">{plainText(node.place ?? '', 40) || '–'}</span>
      <a class="six" href={`/nodes/${encodeURIComponent(node.id)}`} title={node.serial ?? node.macs[0] ?? ''}>
        {lastSix(node)}
      </a>
      <span class="who">
        <bdi class="name">{plainText(node.name, 120)}</bdi>
        <bdi class="profile">
          {[node.profile, node.macs[0]]
            .filter(Boolean)
            .map((text) => plainText(text ?? '', 80))
            .join(' · ')}
        </bdi>
      </span>
      <State of={of} />
      <WayOn node={node} />
      <Outcome id={node.id} />
    </li>
  );
}

function rowId(id: string): string {
  return `row-${id}`;
}

/** The middle of the row: a bar while it works, the reason where it needs a hand, a time where neither. */
function State({ of }: { of: Signal<FloorNode> }) {
  const node = of.value;
  const times = summary.value?.stageTimes ?? [];
  const pace = useComputed(() => {
    const isAway = link.value.kind === 'away';
    const words = paceOf(of.value, usualTime(summary.value?.stageTimes ?? [], of.value), nowMs.value);
    return isAway ? { ...words, pace: 'silent' as const } : words;
  });
  const hasBar = node.stageCount !== null && node.group !== 'done' && node.group !== 'waiting';
  return (
    <>
      <div class={`progress ${node.group === 'running' ? pace.value.pace : ''}`}>
        {hasBar && <ProgressBar node={node} times={times} pace={pace.value.pace} />}
        {hasBar && (
          <span class="stage">
            <bdi>{stageWords(node)}</bdi>
            {node.group === 'running' && <span class="pace">{pace.value.text}</span>}
          </span>
        )}
      </div>
      {node.group === 'needs-hand' ? <Reason node={node} /> : <Rest node={node} hasBar={hasBar} />}
    </>
  );
}

function Reason({ node }: { node: FloorNode }) {
  const { reason, statusText, since } = node;
  return (
    <div class="reason">
      <bdi class="what">{sentenceCase(plainText(reason?.message ?? statusText, 300))}</bdi>
      <span class="next">
        {reason && <bdi>{plainText(reason.next, 300)}</bdi>} <ErrorCode code={reason?.code ?? null} />{' '}
        <Ago at={since} />
      </span>
    </div>
  );
}

function Rest({ node, hasBar }: { node: FloorNode; hasBar: boolean }) {
  return (
    <div class="rest">
      {!hasBar && <bdi>{plainText(node.statusText, 120)}</bdi>}
      {!hasBar && node.group !== 'running' && ' · '}
      {node.group !== 'running' && <Ago at={node.since} />}
    </div>
  );
}

/** The next step as a button, where this person may take it. */
function WayOn({ node }: { node: FloorNode }) {
  const action = wayOn(node, rights.value);
  const doing = useComputed(() => {
    const now = pending.value.get(node.id);
    return now?.kind === 'doing' ? now.words : undefined;
  });
  return (
    <div class="way-on">
      {doing.value !== undefined ? (
        <span role="status">{doing.value}</span>
      ) : (
        action && (
          <button type="button" class="primary" onClick={() => begin(action, [node])}>
            {ACTIONS[action].label}
          </button>
        )
      )}
      {node.group === 'done' && may('records:read') && <LabelButton node={node} />}
    </div>
  );
}

function Outcome({ id }: { id: string }) {
  const problem = useComputed(() => {
    const now = pending.value.get(id);
    return now?.kind === 'refused' ? now.problem : undefined;
  });
  return problem.value ? <ProblemText problem={problem.value} /> : null;
}
