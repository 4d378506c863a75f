import type { Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type FloorNode, NODE_STATUSES } from '../../protocol/floor.ts';
import { may, rights } from '../api/session.ts';
import { pending } from '../floor/pending.ts';
import { begin } from '../floor/question.tsx';
import { isLoaded, nodeSignal, order } from '../live/floor-state.ts';
import { ErrorCode } from '../parts/error-code.tsx';
import { Fact } from '../parts/fact.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { GROUP_NAMES, Shape } from '../parts/shapes.tsx';
import { Ago } from '../parts/since.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { ACTIONS, possibleActions } from '../words/action-table.ts';
import { lastSix } from '../words/node-words.ts';
import { plainText } from '../words/plain-text.ts';
import { sentenceCase } from '../words/sentence-case.ts';
import { DisksTab } from './disks-tab.tsx';
import { followNode, NodeFacts } from './follow-node.ts';
import { HardwareTab } from './hardware-tab.tsx';
import { HistoryTab } from './history-tab.tsx';
import { LogTab } from './log-tab.tsx';
import { RecordTab } from './record-tab.tsx';
import { TimelinePicture } from './timeline-picture.tsx';

/** One machine: who it is, how it got where it is, and what can be done. The address has its id. */
export function NodeScreen({ id }: { id: string }) {
  if (!isLoaded.value) return <p class="wait">Asking the server for its machines…</p>;
  const isHere = Object.values(order.value).some((ids) => ids.includes(id));
  const row = isHere ? nodeSignal(id) : undefined;
  if (!row) {
    return (
      <main class="node">
        <h1>There is no machine {plainText(id, 60)}</h1>
        <p>
          It was deleted, or the address is wrong. <a href="/">All machines</a>
        </p>
      </main>
    );
  }
  return <KnownNode key={id} row={row} />;
}

function KnownNode({ row }: { row: Signal<FloorNode> }) {
  const node = row.value;
  const facts = useMemo(() => new NodeFacts(), []);
  useEffect(() => {
    const following = new AbortController();
    void followNode(node.id, facts, following.signal);
    return () => following.abort();
  }, [node.id, facts]);
  const [newest] = facts.workflows.value;
  const answer = facts.node.value;
  const problem = facts.problem.value;
  return (
    <main class={`node ${node.group}`}>
      <p class="back">
        <a href="/">← All machines</a>
      </p>
      <NodeHeader node={node} ip={answer?.ip ?? null} generation={answer?.generation ?? 0} />
      {problem && <ProblemText problem={problem} />}
      {newest && <TimelinePicture workflow={newest} firstBootAt={answer?.firstBootAt ?? null} />}
      <Tabs
        label="About this machine"
        tabs={[
          { name: 'Log', show: () => <LogTab lines={facts.log} name={node.name} /> },
          { name: 'Hardware', show: () => <HardwareTab inventory={answer?.inventory} /> },
          { name: 'Disks', show: () => <DisksTab node={node} inventory={answer?.inventory} /> },
          { name: 'History', show: () => <HistoryTab workflows={facts.workflows.value} /> },
          ...(may('records:read') ? [{ name: 'Record', show: () => <RecordTab node={node} /> }] : []),
        ]}
      />
    </main>
  );
}

function NodeHeader({ node, ip, generation }: { node: FloorNode; ip: string | null; generation: number }) {
  const { reason, status, group } = node;
  return (
    <section class="identity">
      <h1>
        <span class="six">{lastSix(node)}</span> <bdi>{plainText(node.name, 120)}</bdi>
      </h1>
      <p class="standing">
        <Shape group={group} /> <span class="spoken">{GROUP_NAMES[group]}: </span>
        <strong>{NODE_STATUSES[status].label}</strong>{' '}
        <span class="quiet">
          <Ago at={node.since} />
        </span>
      </p>
      {group === 'needs-hand' && (
        <div class="reason">
          <bdi class="what">{sentenceCase(plainText(reason?.message ?? node.statusText))}</bdi>
          <span class="next">
            <bdi>{plainText(reason?.next ?? NODE_STATUSES[status].next)}</bdi>{' '}
            <ErrorCode code={reason?.code ?? null} />
          </span>
        </div>
      )}
      <Buttons node={node} />
      <dl class="facts">
        <Fact name="Place">{plainText(node.place ?? '–', 60)}</Fact>
        <Fact name="Serial">{plainText(node.serial ?? '–', 80)}</Fact>
        <Fact name="MAC">{node.macs.map((mac) => plainText(mac, 40)).join(', ') || '–'}</Fact>
        <Fact name="UUID">{node.uuid ?? '–'}</Fact>
        <Fact name="Address">{ip ?? '–'}</Fact>
        <Fact name="Profile">{plainText(node.profile ?? '–', 120)}</Fact>
        <Fact name="Generation">{generation}</Fact>
        <Fact name="Last word">{node.heardAt ? <Ago at={node.heardAt} /> : 'never'}</Fact>
      </dl>
    </section>
  );
}

function Buttons({ node }: { node: FloorNode }) {
  const now = pending.value.get(node.id);
  const actions = possibleActions(node, rights.value);
  return (
    <>
      <div class="choices">
        {now?.kind === 'doing' && <span role="status">{now.words}</span>}
        {actions.map((action, index) => (
          <button
            key={action}
            type="button"
            class={ACTIONS[action].isDestructive ? 'destructive' : index === 0 ? 'primary' : ''}
            onClick={() => begin(action, [node])}
          >
            {ACTIONS[action].label}
          </button>
        ))}
      </div>
      {now?.kind === 'refused' && <ProblemText problem={now.problem} />}
    </>
  );
}
