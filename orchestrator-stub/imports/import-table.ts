import type { CsvDelimiter } from '../../formats/csv.ts';
import {
  type ImportRow,
  type ImportState,
  ROW_OUTCOMES,
  ROW_VERDICTS,
  type RowOutcome,
  type RowVerdict,
} from '../../protocol/imports.ts';
import type { Host } from '../nodes/host.ts';
import type { Store } from '../store/store.ts';

/** A list that somebody sent, as it is stored. */
export interface ImportRecord {
  id: string;
  file: string;
  columns: string[];
  delimiter: CsvDelimiter;
  state: ImportState;
  /** Whether its nodes get their credentials at the first knock. */
  autoOnboard: boolean;
  createdAt: string;
  createdBy: string;
  startedAt: string | null;
  /** Who started it: the audit log names this person for every row. */
  startedBy: { name: string; role: string; from: string } | null;
  finishedAt: string | null;
  /** How many rows it takes in, how many of them are settled, and the line of the last of these. */
  wanted: number;
  done: number;
  lastLine: number;
  /** The server that works at it, and until when the others leave it alone. */
  worker: { id: string; until: string } | null;
}

/** A row with what is needed to take it back. */
export interface StoredRow extends ImportRow {
  /** The record of the node before the import; null: there was none. Absent until the row is imported. */
  before?: Host | null;
}

export interface RowCounts {
  total: number;
  verdicts: Record<RowVerdict, number>;
  outcomes: Record<RowOutcome, number>;
}

interface Row {
  document: string;
}

/** Imports and their rows. */
export class ImportTable {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest first. */
  async list(): Promise<ImportRecord[]> {
    return this.#records('SELECT document FROM imports ORDER BY id DESC');
  }

  async running(): Promise<ImportRecord[]> {
    return this.#records("SELECT document FROM imports WHERE state = 'running' ORDER BY id");
  }

  async get(id: string): Promise<ImportRecord | undefined> {
    return (await this.#records('SELECT document FROM imports WHERE id = ?', id))[0];
  }

  async save(record: ImportRecord): Promise<void> {
    await this.#store.run(
      'INSERT INTO imports (id, document) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET document = excluded.document',
      record.id,
      JSON.stringify(record),
    );
  }

  async delete(id: string): Promise<void> {
    await this.#store.run('DELETE FROM imports WHERE id = ?', id);
  }

  async rows(id: string, { after = 0, limit = 1_000_000 } = {}): Promise<StoredRow[]> {
    return this.#rows(
      'SELECT document FROM import_rows WHERE import_id = ? AND line > ? ORDER BY line LIMIT ?',
      id,
      after,
      limit,
    );
  }

  /** The next row behind a line that is to be imported. */
  async nextRow(id: string, lastLine: number): Promise<StoredRow | undefined> {
    const [row] = await this.#rows(
      "SELECT document FROM import_rows WHERE import_id = ? AND line > ? AND verdict <> 'bad' ORDER BY line LIMIT 1",
      id,
      lastLine,
    );
    return row;
  }

  async saveRow(id: string, row: StoredRow): Promise<void> {
    await this.#store.run(
      'INSERT INTO import_rows (import_id, line, document) VALUES (?, ?, ?) ON CONFLICT (import_id, line) DO UPDATE SET document = excluded.document',
      id,
      row.line,
      JSON.stringify(row),
    );
  }

  async count(id: string): Promise<RowCounts> {
    const groups = await this.#store.all<{ verdict: RowVerdict; outcome: RowOutcome | null; count: number }>(
      'SELECT verdict, outcome, count(*) AS count FROM import_rows WHERE import_id = ? GROUP BY verdict, outcome',
      id,
    );
    const sum = (fits: (group: (typeof groups)[number]) => boolean) =>
      groups.filter(fits).reduce((total, { count }) => total + Number(count), 0);
    const perVerdict = ROW_VERDICTS.map((each) => [each, sum(({ verdict }) => verdict === each)]);
    const perOutcome = ROW_OUTCOMES.map((each) => [each, sum(({ outcome }) => outcome === each)]);
    return {
      total: sum(() => true),
      verdicts: Object.fromEntries(perVerdict) as Record<RowVerdict, number>,
      outcomes: Object.fromEntries(perOutcome) as Record<RowOutcome, number>,
    };
  }

  async #records(sql: string, ...values: string[]): Promise<ImportRecord[]> {
    const rows = await this.#store.all<Row>(sql, ...values);
    return rows.map(({ document }) => JSON.parse(document) as ImportRecord);
  }

  async #rows(sql: string, ...values: (string | number)[]): Promise<StoredRow[]> {
    const rows = await this.#store.all<Row>(sql, ...values);
    return rows.map(({ document }) => JSON.parse(document) as StoredRow);
  }
}
