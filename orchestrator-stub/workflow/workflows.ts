import { KindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { EventBus } from '../events/bus.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import { renderedAnew } from './rendered-anew.ts';
import { WorkerIndex } from './worker-index.ts';
import {
  type ActionReport,
  applyReport,
  applyTimeouts,
  approve,
  cancel,
  currentIndex,
  hasMoved,
  isTerminal,
  newProgress,
  nextDeadline,
  planToApprove,
  retry,
  type StoredWorkflow,
  type WorkflowDefinition,
  type WorkflowProgress,
} from './workflow.ts';
import type { WorkflowTable } from './workflow-table.ts';

export interface WorkflowsOptions {
  store: Store;
  table: WorkflowTable;
  bus: EventBus;
  now: () => Date;
  /** How much later than the agent the stub ends an action that overran its time. */
  timeoutGraceMs: number;
  /** Told about a timeout that could not be written down; it is tried again. */
  onFailure: (thrown: unknown) => void;
}

/** What every process hears of a workflow, in the order of commits. */
type Change =
  | {
      kind: 'changed';
      id: string;
      progress: WorkflowProgress;
      /** Sealed. Null where the workflow was not over before: then every process holds it. */
      definition: string | null;
    }
  | { kind: 'forgotten'; id: string }
  | { kind: 'forgotten-with-host'; hostId: HostId };

/** Finished workflows that are kept of one node. */
const KEPT_PER_NODE = 20;
/** How soon a timeout is ended again that could not be written down. */
const EXPIRE_AGAIN_MS = 2000;
/** setTimeout cannot wait longer than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The workflows of the site. Those that are not over are held in memory, indexed by worker, so that a poll needs no table; every change is
 * committed before memory holds it and anybody hears of it. Memory follows from what is heard, in the process that made the change as in
 * every other: all hold the same.
 */
export class Workflows {
  readonly #options: WorkflowsOptions;
  readonly #active = new Map<string, StoredWorkflow>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #listeners: ((workflow: StoredWorkflow) => Promise<void>)[] = [];
  /** What each open transaction has changed and memory does not hold yet. */
  readonly #uncommitted = new WeakMap<object, Map<string, StoredWorkflow>>();
  readonly #channel: Channel<Change>;
  #isStopped = false;
  readonly index = new WorkerIndex();

  private constructor(options: WorkflowsOptions, known: readonly StoredWorkflow[]) {
    this.#options = options;
    this.#channel = new Channel(options.store, 'workflow', (change) => this.#follow(change));
    for (const workflow of known) this.#hold(workflow);
  }

  static async open(options: WorkflowsOptions): Promise<Workflows> {
    return new Workflows(options, await options.table.list());
  }

  /** Calls `listener` with every change, inside its transaction: what it writes is there with the change or not at all. */
  subscribe(listener: (workflow: StoredWorkflow) => Promise<void>): void {
    this.#listeners.push(listener);
  }

  /** Ends timeouts that fell due while the stub was down, and starts the clocks of the others. */
  start(): void {
    for (const { definition } of this.#active.values()) this.#schedule(definition.id);
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** One that is paused before it begins is being prepared. */
  async add(definition: WorkflowDefinition, isPaused = false): Promise<StoredWorkflow> {
    const workflow = { definition, progress: { ...newProgress(definition), isPaused } };
    await this.#options.store.transaction(async () => {
      await this.#options.table.insert(workflow);
      await this.#changed(workflow, { isKnown: false });
    });
    return workflow;
  }

  list(): Promise<StoredWorkflow[]> {
    return this.#options.table.list();
  }

  async find(id: string): Promise<StoredWorkflow | undefined> {
    return this.#held(id) ?? (await this.#options.table.byId(id));
  }

  async get(id: string): Promise<StoredWorkflow> {
    const workflow = await this.find(id);
    if (!workflow) throw new KindlingError('KND_WORKFLOW_UNKNOWN', `there is no workflow ${id}`);
    return workflow;
  }

  async latestOf(hostId: HostId): Promise<StoredWorkflow | undefined> {
    const { store, table } = this.#options;
    // A transaction sees its own changes, which memory holds only later.
    const changed =
      (store.current && this.#uncommitted.get(store.current)) ?? new Map<string, StoredWorkflow>();
    for (const workflow of [...changed.values()].reverse()) {
      if (workflow.definition.hostId === hostId && !isTerminal(workflow.progress.state)) return workflow;
    }
    for (const workflow of this.#active.values()) {
      const { id, hostId: ofHost } = workflow.definition;
      if (ofHost === hostId && !changed.has(id)) return workflow;
    }
    return table.latestOf(hostId);
  }

  /** Workflows that are not over and have work for this worker, oldest first. */
  activeOf(workerId: string): StoredWorkflow[] {
    this.index.asked(workerId);
    return this.index.idsOf(workerId).flatMap((id) => this.#active.get(id) ?? []);
  }

  /**
   * Applies a report that was judged by `seen`. False: the workflow is no longer what was seen, and the report is to be judged
   * anew.
   */
  async report(seen: StoredWorkflow, report: ActionReport): Promise<boolean> {
    let isStill = false;
    await this.#change(seen.definition.id, ({ progress }) => {
      isStill = progress === seen.progress;
      return isStill ? applyReport(progress, report, this.#options.now()) : progress;
    });
    return isStill;
  }

  async retry(id: string): Promise<StoredWorkflow> {
    return this.#change(id, ({ progress, definition }) => {
      if (!isTerminal(progress.state) || currentIndex(progress) >= definition.actions.length) {
        throw refused(id, progress, 'retried');
      }
      return retry(progress);
    });
  }

  /** Begins again at the action that failed, with the actions from there on as they are rendered today. */
  async retryAnew(id: string, fresh: WorkflowDefinition): Promise<StoredWorkflow> {
    const { store, table } = this.#options;
    return store.transaction(async () => {
      const { definition, progress } = await this.get(id);
      if (!isTerminal(progress.state) || currentIndex(progress) >= definition.actions.length) {
        throw refused(id, progress, 'retried');
      }
      const after = renderedAnew({ definition, progress }, fresh);
      await table.saveDefinition(after.definition);
      await table.saveProgress(id, after.progress);
      await this.#changed(after, { isKnown: false });
      return after;
    });
  }

  /** Lets the action go on that waits for this very plan to be approved; the first digits of its hash will do. */
  async approve(id: string, plan: string): Promise<StoredWorkflow> {
    return this.#change(id, ({ progress }) => {
      const waiting = planToApprove(progress);
      if (waiting === undefined) throw refused(id, progress, 'approved: no plan waits for it');
      if (!waiting.startsWith(plan)) {
        throw new KindlingError(
          'KND_WORKFLOW_STATE',
          `workflow ${id} waits for another plan to be approved, ${waiting}`,
          { hint: 'Look at the plan in the workflow’s message, and approve that one or none.' },
        );
      }
      return approve(progress, waiting);
    });
  }

  async pause(id: string): Promise<StoredWorkflow> {
    return this.#change(id, ({ progress }) => {
      if (isTerminal(progress.state)) throw refused(id, progress, 'paused');
      return { ...progress, isPaused: true };
    });
  }

  async resume(id: string): Promise<StoredWorkflow> {
    return this.#change(id, ({ progress }) => {
      if (!progress.isPaused) throw refused(id, progress, 'resumed');
      return { ...progress, isPaused: false };
    });
  }

  async cancel(id: string, reason: string): Promise<StoredWorkflow> {
    return this.#change(id, ({ progress }) => {
      if (isTerminal(progress.state)) throw refused(id, progress, 'canceled');
      return cancel(progress, reason, this.#options.now());
    });
  }

  /** Cancels what a host still has to do: it is deleted, deauthorized or gets a new generation. */
  async cancelAllOf(hostId: HostId, reason: string): Promise<void> {
    await this.#options.store.transaction(async () => {
      for (const { definition } of [...this.#active.values()]) {
        if (definition.hostId === hostId) await this.cancel(definition.id, reason);
      }
    });
  }

  /** The host is deleted, and its workflows with it. */
  forget(hostId: HostId): void {
    this.#channel.tell({ kind: 'forgotten-with-host', hostId });
  }

  /** How durable a change must be is known before its transaction begins: it is decided by what memory holds, if that is still so then. */
  async #change(id: string, decide: (workflow: StoredWorkflow) => WorkflowProgress): Promise<StoredWorkflow> {
    const { store, table } = this.#options;
    const held = this.#held(id);
    const planned = held && decide(held);
    if (held && planned === held.progress) return held;
    const isProgressOnly = held && planned && !hasMoved(held.progress, planned);
    const result = await store.transaction(
      async () => {
        if (held && this.#held(id) !== held) return undefined;
        const before = held ?? (await this.get(id));
        const progress = planned ?? decide(before);
        if (progress === before.progress) return before;
        const after = { definition: before.definition, progress };
        await table.saveProgress(id, progress);
        await this.#changed(after, { isKnown: !isTerminal(before.progress.state) });
        if (isTerminal(progress.state)) await this.#forgetOldOnes(after.definition.hostId);
        return after;
      },
      isProgressOnly ? 'buffered' : 'synced',
    );
    return result ?? this.#change(id, decide);
  }

  async #changed(workflow: StoredWorkflow, { isKnown }: { isKnown: boolean }): Promise<void> {
    const { store } = this.#options;
    if (store.current) {
      const uncommitted = this.#uncommitted.get(store.current) ?? new Map<string, StoredWorkflow>();
      this.#uncommitted.set(store.current, uncommitted.set(workflow.definition.id, workflow));
    }
    for (const listener of this.#listeners) await listener(workflow);
    const { definition, progress } = workflow;
    this.#channel.tell({
      kind: 'changed',
      id: definition.id,
      progress,
      definition: isKnown ? null : this.#options.table.sealed(definition),
    });
    this.#publish(workflow);
  }

  #follow(change: Change): void {
    switch (change.kind) {
      case 'changed': {
        const definition =
          change.definition === null
            ? this.#active.get(change.id)?.definition
            : this.#options.table.opened(change.definition);
        if (!definition) throw new Error(`workflow ${change.id} has changed and is not held`);
        this.#hold({ definition, progress: change.progress });
        this.#schedule(change.id);
        this.index.wake(definition.actions.map(({ workerId }) => workerId));
        break;
      }
      case 'forgotten':
        this.index.forget(change.id);
        break;
      case 'forgotten-with-host':
        for (const { definition } of [...this.#active.values()]) {
          if (definition.hostId === change.hostId) this.#release(definition.id);
        }
        this.index.forgetHost(change.hostId);
        break;
    }
  }

  async #forgetOldOnes(hostId: HostId): Promise<void> {
    const { table } = this.#options;
    for (const id of await table.dispensableOf(hostId, KEPT_PER_NODE)) {
      await table.delete(id);
      this.#channel.tell({ kind: 'forgotten', id });
    }
  }

  /** What memory has of a workflow. It follows after COMMIT; a transaction sees its own changes before that. */
  #held(id: string): StoredWorkflow | undefined {
    const { current } = this.#options.store;
    return (current && this.#uncommitted.get(current)?.get(id)) ?? this.#active.get(id);
  }

  #hold(workflow: StoredWorkflow): void {
    const { definition, progress } = workflow;
    this.index.put(definition, progress.state);
    if (isTerminal(progress.state)) this.#release(definition.id);
    else this.#active.set(definition.id, workflow);
  }

  #release(id: string): void {
    this.#active.delete(id);
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  #schedule(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    const workflow = this.#active.get(id);
    if (!workflow) return;
    const { now, timeoutGraceMs } = this.#options;
    const deadline = nextDeadline(workflow.definition, workflow.progress, timeoutGraceMs);
    if (deadline === undefined) return;
    const waitMs = Math.min(Math.max(0, deadline - now().getTime()), LONGEST_TIMER_MS);
    this.#expireIn(id, waitMs);
  }

  #expireIn(id: string, waitMs: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    if (this.#isStopped || !this.#active.has(id)) return;
    const timer = setTimeout(() => {
      this.#expire(id).catch((thrown: unknown) => {
        this.#options.onFailure(thrown);
        this.#expireIn(id, EXPIRE_AGAIN_MS);
      });
    }, waitMs);
    timer.unref();
    this.#timers.set(id, timer);
  }

  async #expire(id: string): Promise<void> {
    const { now, timeoutGraceMs } = this.#options;
    const before = this.#active.get(id);
    if (!before) return;
    const after = await this.#change(id, ({ definition, progress }) =>
      applyTimeouts(definition, progress, now(), timeoutGraceMs),
    );
    if (after.progress === before.progress) this.#schedule(id);
  }

  #publish({ definition, progress }: StoredWorkflow): void {
    const index = Math.min(currentIndex(progress), definition.actions.length - 1);
    const before = currentIndex(progress) - 1;
    const done = progress.actions[before];
    this.#options.bus.publish({
      type: 'workflow',
      nodeId: definition.hostId,
      workflowId: definition.id,
      state: progress.state,
      action: definition.actions[index]?.name ?? '',
      index,
      total: definition.actions.length,
      actionState: progress.actions[index]?.state ?? 'PENDING',
      message: progress.message || (progress.actions[index]?.message ?? ''),
      finished: done
        ? {
            action: definition.actions[before]?.name ?? '',
            seconds: done.seconds,
            message: done.message,
          }
        : null,
    });
  }
}

function refused(id: string, progress: WorkflowProgress, what: string): KindlingError {
  const state = progress.isPaused ? 'paused' : progress.state;
  return new KindlingError('KND_WORKFLOW_STATE', `workflow ${id} is ${state} and cannot be ${what}`);
}
