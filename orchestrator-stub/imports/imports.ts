import { KindlingError } from '../../protocol/error.ts';
import type { ImportAnswer, ImportEvent, ImportRow, ImportSummary } from '../../protocol/imports.ts';
import type { EventBus } from '../events/bus.ts';
import { ulid } from '../store/identifiers.ts';
import type { Store } from '../store/store.ts';
import { decideRow } from './decide-row.ts';
import { errorFileName, writeErrorFile } from './error-file.ts';
import type { ImportRecord, ImportTable, RowCounts, StoredRow } from './import-table.ts';
import { type ListedMachine, nameOfMachine, readMachineList } from './machine-list.ts';
import { type SurroundingsParts, surroundingsOf } from './surroundings.ts';
import { type UndoParts, undoRow, whyNotUndone } from './undo.ts';

export interface ImportsOptions extends SurroundingsParts, UndoParts {
  store: Store;
  table: ImportTable;
  bus: EventBus;
  /** Only what EMF takes. */
  isStrict: boolean;
  now: () => Date;
  /** Told of an import that is to be worked at. */
  onStarted: (id: string) => void;
}

/** Who asks, for the audit log. */
export interface Asker {
  name: string;
  role: string;
  from: string;
}

/** Older ones are forgotten, and with them the way to undo them. */
const KEPT_IMPORTS = 100;
const SHOWN_MACHINES = 5;

/** Lists of machines: checked first, imported when somebody says so, taken back while none of it has booted. */
export class Imports {
  readonly #options: ImportsOptions;

  constructor(options: ImportsOptions) {
    this.#options = options;
  }

  /** Reads a list and judges every row. No node changes by it. */
  async check(
    text: string,
    { file, autoOnboard, by }: { file: string; autoOnboard: boolean; by: string },
  ): Promise<ImportAnswer> {
    const { store, table, isStrict, now } = this.#options;
    const { columns, delimiter, machines } = readMachineList(text, isStrict);
    return store.transaction(async () => {
      await this.#forgetOld();
      const rows: StoredRow[] = [];
      for (const machine of machines) rows.push(await this.#judge(machine));
      const record: ImportRecord = {
        id: ulid(now().getTime()),
        file,
        columns,
        delimiter,
        state: 'checked',
        autoOnboard,
        createdAt: now().toISOString(),
        createdBy: by,
        startedAt: null,
        startedBy: null,
        finishedAt: null,
        wanted: rows.filter(({ verdict }) => verdict !== 'bad').length,
        done: 0,
        lastLine: 0,
        worker: null,
      };
      await table.save(record);
      for (const row of rows) await table.saveRow(record.id, row);
      return this.get(record.id);
    });
  }

  async list(): Promise<ImportSummary[]> {
    const { table } = this.#options;
    const summaries: ImportSummary[] = [];
    for (const record of await table.list()) summaries.push(summaryOf(record, await table.count(record.id)));
    return summaries;
  }

  async get(id: string, page: { after?: number; limit?: number } = {}): Promise<ImportAnswer> {
    const { table } = this.#options;
    const record = await this.#find(id);
    const rows = await table.rows(id, page);
    return {
      ...summaryOf(record, await table.count(id)),
      columns: record.columns,
      rows: rows.map(withoutUndo),
    };
  }

  async errorFile(id: string): Promise<{ name: string; text: string }> {
    const record = await this.#find(id);
    return {
      name: errorFileName(record.file),
      text: writeErrorFile(record, await this.#options.table.rows(id)),
    };
  }

  /** Begins to import. Bad rows stop it, unless they are to be left out. */
  async start(id: string, skipBad: boolean, asker: Asker): Promise<ImportSummary> {
    const { store, table, bus, now, onStarted } = this.#options;
    return store.transaction(async () => {
      const record = await this.#find(id);
      if (record.state !== 'checked') throw wrongState(record, 'started', 'Send the list again.');
      const counts = await table.count(id);
      if (counts.verdicts.bad > 0 && !skipBad) {
        throw new KindlingError(
          'KND_CSV_INVALID',
          `${record.file} has ${counts.verdicts.bad} bad ${counts.verdicts.bad === 1 ? 'row' : 'rows'}`,
        );
      }
      const started: ImportRecord = {
        ...record,
        state: 'running',
        startedAt: now().toISOString(),
        startedBy: asker,
      };
      await table.save(started);
      const summary = summaryOf(started, counts);
      bus.publish(stateEvent(summary));
      store.afterCommit(() => onStarted(id));
      return summary;
    });
  }

  /** Makes everything as it was before, or says which machines stand against it. */
  async undo(id: string): Promise<ImportSummary> {
    const { store, table, bus } = this.#options;
    return store.transaction(async () => {
      const record = await this.#find(id);
      if (record.state !== 'done')
        throw wrongState(record, 'undone', 'Only an import that is done can be undone.');
      const rows = (await table.rows(id)).filter(isImported);
      const against: string[] = [];
      for (const row of rows) {
        const why = await whyNotUndone(this.#options, row);
        if (why) against.push(why);
      }
      if (against.length > 0) throw hasBegun(against);
      for (const row of rows) {
        await undoRow(this.#options, row);
        const { before: _before, ...rest } = row;
        await table.saveRow(id, { ...rest, outcome: 'undone' });
      }
      const undone: ImportRecord = { ...record, state: 'undone' };
      await table.save(undone);
      const summary = summaryOf(undone, await table.count(id));
      bus.publish(stateEvent(summary));
      return summary;
    });
  }

  async #judge(machine: ListedMachine): Promise<StoredRow> {
    const decision = decideRow(machine, await surroundingsOf(this.#options, machine));
    return {
      line: machine.line,
      cells: machine.cells,
      node: nameOfMachine(machine),
      verdict: decision.verdict,
      faults: decision.verdict === 'bad' ? decision.faults : [],
      changes: decision.verdict === 'changed' ? decision.changes : [],
      outcome: null,
      detail: '',
      nodeId: 'host' in decision ? decision.host.id : null,
    };
  }

  async #forgetOld(): Promise<void> {
    const { table } = this.#options;
    const old = (await table.list()).filter(({ state }) => state !== 'running').slice(KEPT_IMPORTS - 1);
    for (const { id } of old) await table.delete(id);
  }

  async #find(id: string): Promise<ImportRecord> {
    const record = await this.#options.table.get(id);
    if (!record) throw new KindlingError('KND_IMPORT_UNKNOWN', `there is no import ${id}`);
    return record;
  }
}

function summaryOf(record: ImportRecord, counts: RowCounts): ImportSummary {
  const { id, file, state, createdAt, createdBy, startedAt, finishedAt, wanted, done } = record;
  return { id, file, state, createdAt, createdBy, startedAt, finishedAt, wanted, done, ...counts };
}

/** What watchers hear when an import is started, done or undone. */
export function stateEvent({
  id,
  state,
  done,
  wanted,
}: Pick<ImportRecord, 'id' | 'state' | 'done' | 'wanted'>): ImportEvent {
  return { type: 'import', nodeId: '', importId: id, state, done, wanted, row: null };
}

function withoutUndo({ before: _before, ...row }: StoredRow): ImportRow {
  return row;
}

function isImported({ outcome }: StoredRow): boolean {
  return outcome === 'registered' || outcome === 'changed';
}

function wrongState({ file, state }: ImportRecord, wanted: string, hint: string): KindlingError {
  return new KindlingError('KND_IMPORT_STATE', `the import of ${file} is ${state}: it cannot be ${wanted}`, {
    hint,
  });
}

function hasBegun(against: readonly string[]): KindlingError {
  const shown = against.slice(0, SHOWN_MACHINES).join('; ');
  const more = against.length - SHOWN_MACHINES;
  return new KindlingError(
    'KND_IMPORT_STATE',
    `the import cannot be undone: ${shown}${more > 0 ? `; and ${more} more` : ''}`,
    { hint: 'Delete or correct single nodes instead.' },
  );
}
