import type { FloorNode, NodeStatus } from '../../protocol/floor.ts';
import { decodeProgress } from '../../protocol/progress-text.ts';
import type { Host } from '../nodes/host.ts';
import { actionDetail } from '../provisioning/status-text.ts';
import { currentIndex, type StoredWorkflow } from '../workflow/workflow.ts';

/** The stage after the last action: the installed system boots for the first time. */
export const FIRST_BOOT = 'first-boot';

/** And after that: its agents are installed and started. */
const AGENTS = 'agents';

type Stage = Pick<
  FloorNode,
  'stage' | 'doing' | 'stageIndex' | 'stageCount' | 'percent' | 'bytesPerSecond' | 'secondsLeft'
>;

const NO_FIGURES = { percent: null, bytesPerSecond: null, secondsLeft: null };

/** Which stage a node is at, and how far in it, as the node says. A stage that is over or failed has no rate and no time left. */
export function stageOf(status: NodeStatus, workflow: StoredWorkflow | undefined): Stage {
  const count = workflow?.definition.actions.length ?? null;
  if (status === 'first-boot' || status === 'first-boot-late') {
    return { stage: FIRST_BOOT, doing: 'First boot', stageIndex: count, stageCount: count, ...NO_FIGURES };
  }
  if (status === 'installing-agents') {
    return { stage: AGENTS, doing: 'Installing agents', stageIndex: count, stageCount: count, ...NO_FIGURES };
  }
  if (!workflow) return { stage: null, doing: null, stageIndex: null, stageCount: null, ...NO_FIGURES };
  const { definition, progress } = workflow;
  const index = Math.min(currentIndex(progress), definition.actions.length - 1);
  const name = definition.actions[index]?.name ?? null;
  const action = progress.actions[index];
  const said = action?.state === 'RUNNING' ? decodeProgress(action.message) : undefined;
  const { doing, ...figures } = said ?? { doing: '', ...NO_FIGURES };
  return {
    stage: name,
    doing: doing || (name === null ? null : actionDetail(name)),
    stageIndex: index,
    stageCount: count,
    ...(status === 'provisioning' ? figures : { ...NO_FIGURES, percent: figures.percent }),
  };
}

/** When the node last said anything, about its work or by showing itself. */
export function heardAtOf({ lastSeenAt }: Host, workflow: StoredWorkflow | undefined): string | null {
  const times = [lastSeenAt, ...(workflow?.progress.actions.map(({ heardAt }) => heardAt) ?? [])];
  return times.reduce<string | null>((last, time) => (time && (!last || time > last) ? time : last), null);
}
