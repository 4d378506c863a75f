import { randomUUID } from 'node:crypto';
import { toKindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { EventBus } from '../events/bus.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { Store } from '../store/store.ts';
import { decideRow } from './decide-row.ts';
import type { ImportRecord, ImportTable, StoredRow } from './import-table.ts';
import { stateEvent } from './imports.ts';
import { readMachine } from './machine-list.ts';
import { type SurroundingsParts, surroundingsOf } from './surroundings.ts';

export interface ImportWorkerOptions extends SurroundingsParts {
  store: Store;
  table: ImportTable;
  nodes: Nodes;
  audit: AuditLog;
  bus: EventBus;
  isStrict: boolean;
  /** A node that got another profile may be waiting for one. */
  advance: (hostId: HostId) => void;
  now: () => Date;
  onFailure: (thrown: unknown) => void;
}

/** A server that was killed left its imports alone for so long when another one, or the same one anew, goes on with them. */
const LEASE_MS = 10_000;
const LOOK_MS = 2000;

/**
 * Imports row by row, each in a transaction of its own: a row is imported and written down as such, or neither. So a server that
 * stops in the middle knows when it comes back where it was, and goes on.
 */
export class ImportWorker {
  readonly #options: ImportWorkerOptions;
  readonly #id = randomUUID();
  readonly #work = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(options: ImportWorkerOptions) {
    this.#options = options;
  }

  /** Goes on with what was left, now and whenever another server leaves something. */
  start(): void {
    const look = () => void this.#lookForWork().catch(this.#options.onFailure);
    this.#timer = setInterval(look, LOOK_MS).unref();
    look();
  }

  /** Finishes the row at hand and leaves the rest to the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await Promise.all(this.#work.values());
  }

  /** Begins to work at an import, unless somebody does. */
  begin(id: string): void {
    if (this.#isStopping || this.#work.has(id)) return;
    const work = this.#workAt(id)
      .catch(this.#options.onFailure)
      .finally(() => this.#work.delete(id));
    this.#work.set(id, work);
  }

  async #lookForWork(): Promise<void> {
    for (const { id } of await this.#options.table.running()) this.begin(id);
  }

  async #workAt(id: string): Promise<void> {
    if (!(await this.#take(id))) return;
    while (!this.#isStopping && (await this.#step(id)));
    if (this.#isStopping) await this.#release(id);
  }

  #take(id: string): Promise<boolean> {
    const { store, table, now } = this.#options;
    return store.transaction(async () => {
      const record = await table.get(id);
      if (record?.state !== 'running') return false;
      const { worker } = record;
      if (worker && worker.id !== this.#id && worker.until > now().toISOString()) return false;
      await table.save(this.#leased(record));
      return true;
    });
  }

  async #release(id: string): Promise<void> {
    const { store, table } = this.#options;
    await store.transaction(async () => {
      const record = await table.get(id);
      if (record?.worker?.id === this.#id) await table.save({ ...record, worker: null });
    });
  }

  /** Imports one row. False: there is nothing left to do here. */
  async #step(id: string): Promise<boolean> {
    const { store, table } = this.#options;
    let row: StoredRow | undefined;
    try {
      return await store.transaction(async () => {
        const record = await this.#held(id);
        if (!record) return false;
        row = await table.nextRow(id, record.lastLine);
        if (!row) return this.#finish(record);
        await this.#settle(record, await this.#importRow(record, row));
        return true;
      });
    } catch (thrown) {
      if (!row) throw thrown;
      return this.#fail(id, row, thrown);
    }
  }

  /** The row was rolled back; that it failed is written by itself. */
  #fail(id: string, row: StoredRow, thrown: unknown): Promise<boolean> {
    const { message } = toKindlingError(thrown);
    return this.#options.store.transaction(async () => {
      const record = await this.#held(id);
      if (record) await this.#settle(record, { ...row, outcome: 'failed', detail: message });
      return record !== undefined;
    });
  }

  /** Judges the row again, for the site may have changed since it was checked, and does what is to be done. */
  async #importRow(record: ImportRecord, row: StoredRow): Promise<StoredRow> {
    const { nodes, isStrict, advance } = this.#options;
    const machine = readMachine({ line: row.line, fields: row.cells }, record.columns, isStrict);
    const decision = decideRow(machine, await surroundingsOf(this.#options, machine));
    switch (decision.verdict) {
      case 'bad': {
        const detail = decision.faults.map(({ message }) => message).join('; ');
        return { ...row, outcome: 'failed', detail };
      }
      case 'same':
        return { ...row, outcome: 'unchanged', nodeId: decision.host.id };
      case 'changed': {
        const host = await nodes.correct(decision.host.id, decision.change);
        await this.#audit(record, host, decision.changes);
        advance(host.id);
        return { ...row, outcome: 'changed', nodeId: host.id, before: decision.host };
      }
      case 'new': {
        const host = await nodes.register({ ...decision.registration, autoOnboard: record.autoOnboard });
        await this.#audit(record, host, []);
        return { ...row, outcome: 'registered', nodeId: host.id, before: decision.stranger ?? null };
      }
    }
  }

  /** Writes down what became of the row, and keeps the import for this server. */
  async #settle(record: ImportRecord, row: StoredRow): Promise<void> {
    const { table, bus } = this.#options;
    await table.saveRow(record.id, row);
    const { line, outcome, detail, nodeId } = row;
    const leased = { ...this.#leased(record), lastLine: line, done: record.done + 1 };
    await table.save(leased);
    bus.publish({ ...stateEvent(leased), row: { line, outcome, detail, nodeId } });
  }

  async #finish(record: ImportRecord): Promise<false> {
    const { table, bus, now } = this.#options;
    const done: ImportRecord = {
      ...record,
      state: 'done',
      finishedAt: now().toISOString(),
      worker: null,
    };
    await table.save(done);
    bus.publish(stateEvent(done));
    return false;
  }

  async #held(id: string): Promise<ImportRecord | undefined> {
    const record = await this.#options.table.get(id);
    return record?.state === 'running' && record.worker?.id === this.#id ? record : undefined;
  }

  #leased(record: ImportRecord): ImportRecord {
    const until = new Date(this.#options.now().getTime() + LEASE_MS).toISOString();
    return { ...record, worker: { id: this.#id, until } };
  }

  async #audit(
    { startedBy, id }: ImportRecord,
    { id: node, name: nodeName }: { id: HostId; name: string },
    changes: readonly { field: string; from: string; to: string }[],
  ): Promise<void> {
    if (!startedBy) return;
    const { name: who, role, from } = startedBy;
    await this.#options.audit.append({
      at: this.#options.now().toISOString(),
      who,
      role,
      from,
      action: 'importRow',
      node,
      nodeName,
      target: id,
      before: Object.fromEntries(changes.map((change) => [change.field, change.from])),
      after: Object.fromEntries(changes.map((change) => [change.field, change.to])),
      result: 'done',
    });
  }
}
