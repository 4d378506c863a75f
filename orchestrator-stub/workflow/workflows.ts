import { KindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { EventBus } from '../events/bus.ts';
import type { Database } from '../store/database.ts';
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
  database: Database;
  table: WorkflowTable;
  bus: EventBus;
  now: () => Date;
  /** How much later than the agent the stub ends an action that overran its time. */
  timeoutGraceMs: number;
  /** Told about a timeout that could not be written down; it is tried again. */
  onFailure: (thrown: unknown) => void;
}

/** Finished workflows that are kept of one node. */
const KEPT_PER_NODE = 20;
/** How soon a timeout is ended again that could not be written down. */
const EXPIRE_AGAIN_MS = 2000;
/** setTimeout cannot wait longer than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The workflows of the site. Those that are not over are held in memory, indexed by worker, so that a thousand polls
 * per second never reach the database; every change is committed before memory holds it and anybody hears of it.
 */
export class Workflows {
  readonly #options: WorkflowsOptions;
  readonly #active = new Map<string, StoredWorkflow>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #listeners: ((workflow: StoredWorkflow) => void)[] = [];
  readonly index = new WorkerIndex();

  constructor(options: WorkflowsOptions) {
    this.#options = options;
    for (const workflow of options.table.list()) this.#hold(workflow);
  }

  /** Calls `listener` with every change, inside its transaction: what it writes is there with the change or not at all. */
  subscribe(listener: (workflow: StoredWorkflow) => void): void {
    this.#listeners.push(listener);
  }

  /** Ends timeouts that fell due while the stub was down, and starts the clocks of the others. */
  start(): void {
    for (const { definition } of this.#active.values()) this.#schedule(definition.id);
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** One that is paused before it begins is being prepared. */
  add(definition: WorkflowDefinition, isPaused = false): StoredWorkflow {
    const workflow = { definition, progress: { ...newProgress(definition), isPaused } };
    this.#options.database.transaction(() => {
      this.#options.table.insert(workflow);
      this.#changed(workflow);
    });
    return workflow;
  }

  list(): StoredWorkflow[] {
    return this.#options.table.list();
  }

  find(id: string): StoredWorkflow | undefined {
    const { database, table } = this.#options;
    // Memory follows after COMMIT: what an open transaction has changed is in the table only.
    const held = database.isInTransaction ? undefined : this.#active.get(id);
    return held ?? table.byId(id);
  }

  get(id: string): StoredWorkflow {
    const workflow = this.find(id);
    if (!workflow) throw new KindlingError('KND_WORKFLOW_UNKNOWN', `there is no workflow ${id}`);
    return workflow;
  }

  latestOf(hostId: HostId): StoredWorkflow | undefined {
    for (const workflow of this.#active.values()) if (workflow.definition.hostId === hostId) return workflow;
    return this.#options.table.latestOf(hostId);
  }

  /** Workflows that are not over and have work for this worker, oldest first. */
  activeOf(workerId: string): StoredWorkflow[] {
    this.index.asked(workerId);
    return this.index.idsOf(workerId).flatMap((id) => this.#active.get(id) ?? []);
  }

  report(id: string, report: ActionReport): void {
    this.#change(id, (workflow) => applyReport(workflow.progress, report, this.#options.now()));
  }

  retry(id: string): StoredWorkflow {
    return this.#change(id, ({ progress, definition }) => {
      if (!isTerminal(progress.state) || currentIndex(progress) >= definition.actions.length) {
        throw refused(id, progress, 'retried');
      }
      return retry(progress);
    });
  }

  /** Begins again at the action that failed, with the actions from there on as they are rendered today. */
  retryAnew(id: string, fresh: WorkflowDefinition): StoredWorkflow {
    const { database, table } = this.#options;
    return database.transaction(() => {
      const { definition, progress } = this.get(id);
      if (!isTerminal(progress.state) || currentIndex(progress) >= definition.actions.length) {
        throw refused(id, progress, 'retried');
      }
      const after = renderedAnew({ definition, progress }, fresh);
      table.saveDefinition(after.definition);
      table.saveProgress(id, after.progress);
      this.#changed(after);
      return after;
    });
  }

  /** Lets the action go on that waits for this very plan to be approved; the first digits of its hash will do. */
  approve(id: string, plan: string): StoredWorkflow {
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

  pause(id: string): StoredWorkflow {
    return this.#change(id, ({ progress }) => {
      if (isTerminal(progress.state)) throw refused(id, progress, 'paused');
      return { ...progress, isPaused: true };
    });
  }

  resume(id: string): StoredWorkflow {
    return this.#change(id, ({ progress }) => {
      if (!progress.isPaused) throw refused(id, progress, 'resumed');
      return { ...progress, isPaused: false };
    });
  }

  cancel(id: string, reason: string): StoredWorkflow {
    return this.#change(id, ({ progress }) => {
      if (isTerminal(progress.state)) throw refused(id, progress, 'canceled');
      return cancel(progress, reason, this.#options.now());
    });
  }

  /** Cancels what a host still has to do: it is deleted, deauthorized or gets a new generation. */
  cancelAllOf(hostId: HostId, reason: string): void {
    for (const { definition } of [...this.#active.values()]) {
      if (definition.hostId === hostId) this.cancel(definition.id, reason);
    }
  }

  /** The host is deleted, and its workflows with it. */
  forget(hostId: HostId): void {
    this.#options.database.afterCommit(() => {
      for (const { definition } of [...this.#active.values()]) {
        if (definition.hostId === hostId) this.#release(definition.id);
      }
      this.index.forgetHost(hostId);
    });
  }

  #change(id: string, decide: (workflow: StoredWorkflow) => WorkflowProgress): StoredWorkflow {
    const before = this.get(id);
    const progress = decide(before);
    if (progress === before.progress) return before;
    const after = { definition: before.definition, progress };
    this.#options.database.transaction(
      () => {
        this.#options.table.saveProgress(id, progress);
        this.#changed(after);
        if (isTerminal(progress.state)) this.#forgetOldOnes(after.definition.hostId);
      },
      hasMoved(before.progress, progress) ? 'synced' : 'buffered',
    );
    return after;
  }

  #changed(workflow: StoredWorkflow): void {
    for (const listener of this.#listeners) listener(workflow);
    this.#options.database.afterCommit(() => {
      this.#hold(workflow);
      this.#schedule(workflow.definition.id);
      this.#tell(workflow);
    });
  }

  #forgetOldOnes(hostId: HostId): void {
    const { database, table } = this.#options;
    for (const id of table.dispensableOf(hostId, KEPT_PER_NODE)) {
      table.delete(id);
      database.afterCommit(() => this.index.forget(id));
    }
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
    const timer = setTimeout(() => {
      try {
        this.#expire(id);
      } catch (thrown) {
        this.#options.onFailure(thrown);
        this.#expireIn(id, EXPIRE_AGAIN_MS);
      }
    }, waitMs);
    timer.unref();
    this.#timers.set(id, timer);
  }

  #expire(id: string): void {
    const { now, timeoutGraceMs } = this.#options;
    if (!this.#active.has(id)) return;
    const before = this.get(id).progress;
    const after = this.#change(id, ({ definition, progress }) =>
      applyTimeouts(definition, progress, now(), timeoutGraceMs),
    );
    if (after.progress === before) this.#schedule(id);
  }

  #tell(workflow: StoredWorkflow): void {
    const { definition, progress } = workflow;
    this.index.wake(definition.actions.map(({ workerId }) => workerId));
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
