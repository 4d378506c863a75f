import { signal } from '@preact/signals';
import type { LogLineAnswer, NodeAnswer, WorkflowAnswer } from '../api/answers.ts';
import { call } from '../api/call.ts';
import { readEvents } from '../api/events.ts';
import { type ShownProblem, shownProblem } from '../parts/problem-text.tsx';

/** What the screen of one node shows, kept true while it is open. */
export class NodeFacts {
  readonly node = signal<NodeAnswer | undefined>(undefined);
  /** The newest first. */
  readonly workflows = signal<readonly WorkflowAnswer[]>([]);
  readonly log = signal<readonly LogLineAnswer[]>([]);
  readonly problem = signal<ShownProblem | undefined>(undefined);
}

/** The page keeps no more of a log than a person scrolls through; the file of the node has the rest. */
const KEPT_LINES = 5000;
const LINES_AT_FIRST = 1000;
const AGAIN_MS = 2000;

/** 1 all there is  2 what comes after. A connection that ends begins again at 1. */
export async function followNode(id: string, facts: NodeFacts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await load(id, facts, signal);
      facts.problem.value = undefined;
      await followEvents(id, facts, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      if (!facts.node.peek()) facts.problem.value = shownProblem(thrown);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function load(id: string, facts: NodeFacts, signal: AbortSignal): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(id)}`;
  const [node, { lines }] = await Promise.all([
    call<NodeAnswer>('GET', path, { signal }),
    call<{ lines: LogLineAnswer[] }>('GET', `${path}/logs?limit=${LINES_AT_FIRST}`, { signal }),
    loadWorkflows(id, facts, signal),
  ]);
  facts.node.value = node;
  facts.log.value = lines;
}

async function loadWorkflows(id: string, facts: NodeFacts, signal: AbortSignal): Promise<void> {
  const path = `/api/v1/workflows?node=${encodeURIComponent(id)}`;
  const { workflows } = await call<{ workflows: WorkflowAnswer[] }>('GET', path, { signal });
  facts.workflows.value = workflows.toReversed();
}

async function followEvents(id: string, facts: NodeFacts, signal: AbortSignal): Promise<never> {
  const path = `/api/v1/nodes/${encodeURIComponent(id)}`;
  for await (const { type, data } of readEvents(`/api/v1/events?node=${encodeURIComponent(id)}`, signal)) {
    if (type === 'log') {
      const { lines } = JSON.parse(data) as { lines: LogLineAnswer[] };
      facts.log.value = [...facts.log.peek(), ...lines].slice(-KEPT_LINES);
    }
    if (type === 'workflow') await loadWorkflows(id, facts, signal);
    if (type === 'node') facts.node.value = await call<NodeAnswer>('GET', path, { signal });
  }
  throw new Error('the stream of events has ended');
}
