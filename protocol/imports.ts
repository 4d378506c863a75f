/** Lists of machines that people import: what the HTTP API, the console and the command line say about them. */

/** What would become of a row if it were imported now. */
export const ROW_VERDICTS = ['new', 'changed', 'same', 'bad'] as const;
export type RowVerdict = (typeof ROW_VERDICTS)[number];

/** What became of a row. */
export const ROW_OUTCOMES = ['registered', 'changed', 'unchanged', 'failed', 'undone'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** checked: nothing was changed yet. running: rows are being imported. undone: everything is as it was before. */
export const IMPORT_STATES = ['checked', 'running', 'done', 'undone'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

/** What is wrong with a row, and in which cell. */
export interface RowFault {
  /** Index into the columns; null: the row as a whole. */
  column: number | null;
  message: string;
}

/** A field of a registered node that a row says differently. */
export interface FieldChange {
  field: string;
  from: string;
  to: string;
}

export interface ImportRow {
  /** As an editor counts: the header is line 1. */
  line: number;
  cells: string[];
  /** What a person calls the machine: its name, else what it is known by. */
  node: string;
  verdict: RowVerdict;
  faults: RowFault[];
  changes: FieldChange[];
  /** Null: not imported yet, or never to be. */
  outcome: RowOutcome | null;
  /** Why it failed. */
  detail: string;
  nodeId: string | null;
}

export interface ImportSummary {
  id: string;
  /** Name of the file that was sent. */
  file: string;
  state: ImportState;
  createdAt: string;
  createdBy: string;
  startedAt: string | null;
  finishedAt: string | null;
  total: number;
  verdicts: Record<RowVerdict, number>;
  outcomes: Record<RowOutcome, number>;
  /** How many rows the import takes in; the others are bad. */
  wanted: number;
  /** How many of them are imported, or have failed. */
  done: number;
}

export interface ImportAnswer extends ImportSummary {
  columns: string[];
  rows: ImportRow[];
}

/** One step of an import, as the event stream tells it. */
export interface ImportEvent {
  type: 'import';
  /** Always empty: it is about many nodes. */
  nodeId: '';
  importId: string;
  state: ImportState;
  done: number;
  wanted: number;
  /** The row of this step; null where the state has changed. */
  row: Pick<ImportRow, 'line' | 'outcome' | 'detail' | 'nodeId'> | null;
}
