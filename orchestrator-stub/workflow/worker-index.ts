import type { HostId } from '../../protocol/ids.ts';
import { isTerminal, type WorkflowDefinition, type WorkflowState } from './workflow.ts';

interface Entry {
  id: string;
  hostId: HostId;
  isOver: boolean;
}

/** Agents of the legacy dialect ask every few seconds. */
const PRESENT_MS = 30_000;
const MAX_WORKERS = 10_000;

/** Which workflows name which worker, and who is waiting for news of theirs. */
export class WorkerIndex {
  readonly #entries = new Map<string, Entry[]>();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** When each worker asked last; the one that was silent longest comes first. */
  readonly #askedAtMs = new Map<string, number>();

  put({ id, hostId, actions }: WorkflowDefinition, state: WorkflowState): void {
    const isOver = isTerminal(state);
    for (const worker of new Set(actions.map(({ workerId }) => workerId))) {
      const entries = this.#entries.get(worker) ?? [];
      const entry = entries.find((each) => each.id === id);
      if (entry) entry.isOver = isOver;
      else entries.push({ id, hostId, isOver });
      this.#entries.set(worker, entries);
    }
  }

  idsOf(worker: string): string[] {
    return (this.#entries.get(worker) ?? []).filter(({ isOver }) => !isOver).map(({ id }) => id);
  }

  /** A worker has asked for work. */
  asked(worker: string): void {
    this.#askedAtMs.delete(worker);
    this.#askedAtMs.set(worker, performance.now());
    const oldest = this.#askedAtMs.keys().next().value;
    if (this.#askedAtMs.size > MAX_WORKERS && oldest !== undefined) this.#askedAtMs.delete(oldest);
  }

  /** Whether a worker waits for work right now: its call is held (current dialect), or it asked a moment ago (legacy). */
  isPresent(worker: string): boolean {
    const askedAtMs = this.#askedAtMs.get(worker);
    return (
      this.#waiting.has(worker) || (askedAtMs !== undefined && performance.now() - askedAtMs < PRESENT_MS)
    );
  }

  /** The last workflow of a worker that has none left to do. */
  lastOf(worker: string): string | undefined {
    return this.#entries.get(worker)?.at(-1)?.id;
  }

  /** The node of a worker that has, or had, a workflow. */
  hostOf(worker: string): HostId | undefined {
    return this.#entries.get(worker)?.at(-1)?.hostId;
  }

  forget(id: string): void {
    this.#drop((entry) => entry.id === id);
  }

  forgetHost(hostId: HostId): void {
    this.#drop((entry) => entry.hostId === hostId);
  }

  #drop(isGone: (entry: Entry) => boolean): void {
    for (const [worker, entries] of this.#entries) {
      const rest = entries.filter((entry) => !isGone(entry));
      if (rest.length > 0) this.#entries.set(worker, rest);
      else this.#entries.delete(worker);
    }
  }

  /** Calls `onNews` whenever a workflow of this worker changes. Returns the way to stop. */
  wait(worker: string, onNews: () => void): () => void {
    const waiting = this.#waiting.get(worker) ?? new Set();
    waiting.add(onNews);
    this.#waiting.set(worker, waiting);
    return () => {
      waiting.delete(onNews);
      if (waiting.size === 0) this.#waiting.delete(worker);
    };
  }

  /** How many calls are held. */
  get waitingCount(): number {
    let count = 0;
    for (const waiting of this.#waiting.values()) count += waiting.size;
    return count;
  }

  wake(workers: readonly string[]): void {
    for (const worker of new Set(workers))
      for (const onNews of [...(this.#waiting.get(worker) ?? [])]) onNews();
  }
}
