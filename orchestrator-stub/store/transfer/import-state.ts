import { z } from 'zod';
import { KindlingError } from '../../../protocol/error.ts';
import { STEPS } from '../migrations.ts';
import type { Store, StoreValue } from '../store.ts';
import { digestState, RowDigest, type StateDigest } from './export-state.ts';
import { listTables, type Table } from './tables.ts';

const HEADER = z.strictObject({ kindling: z.literal('state'), layout: z.number() });
const DIGEST = z.strictObject({ rows: z.number(), sha256: z.string() });
const VALUE = z.union([z.string(), z.number(), z.null(), z.strictObject({ base64: z.string() })]);
const ROW = z.strictObject({ table: z.string(), row: z.record(z.string(), VALUE) });

/** Fills an empty store with what exportState() gave: 1 the layout is ours  2 every row  3 the file is whole  4 the store has it all. */
export async function importState(store: Store, lines: AsyncIterable<string>): Promise<StateDigest> {
  const tables = new Map(listTables().map((table) => [table.name, table]));
  return store.transaction(async () => {
    const found = await digestState(store);
    if (found.rows > 0) throw new KindlingError('KND_IMPORT_NOT_EMPTY', 'the state is not empty');
    const sum = new RowDigest();
    let isFirst = true;
    let said: StateDigest | undefined;
    for await (const line of lines) {
      if (said) throw invalid('it goes on after its end');
      const parsed = parseLine(line);
      if (isFirst) checkHeader(parsed);
      else if (DIGEST.safeParse(parsed).success) said = DIGEST.parse(parsed);
      else {
        sum.add(line);
        await insert(store, tables, parsed);
      }
      isFirst = false;
    }
    const read = sum.end();
    if (!said) throw invalid('its end is missing');
    if (read.rows !== said.rows || read.sha256 !== said.sha256) throw invalid('it was changed');
    const stored = await digestState(store);
    if (stored.sha256 !== read.sha256) throw invalid('the database keeps something else than it says');
    return stored;
  });
}

function checkHeader(parsed: unknown): void {
  const header = HEADER.safeParse(parsed);
  if (!header.success) throw invalid('it does not begin as one');
  if (header.data.layout !== STEPS.length)
    throw new KindlingError(
      'KND_IMPORT_INVALID',
      `the file has layout ${header.data.layout}, this version of kindling knows ${STEPS.length}`,
      { hint: 'Export and import with the same version of kindling.' },
    );
}

async function insert(store: Store, tables: ReadonlyMap<string, Table>, parsed: unknown): Promise<void> {
  const line = ROW.safeParse(parsed);
  const table = tables.get(line.data?.table ?? '');
  const row = line.data?.row;
  if (!table || !row || table.columns.some((column) => row[column] === undefined))
    throw invalid('a line is not a row of a table');
  const names = table.columns.map((column) => `"${column}"`).join(', ');
  const marks = table.columns.map(() => '?').join(', ');
  const values = table.columns.map((column) => toValue(row[column] ?? null));
  await store.run(`INSERT INTO "${table.name}" (${names}) VALUES (${marks})`, ...values);
}

function toValue(value: z.infer<typeof VALUE>): StoreValue {
  return value !== null && typeof value === 'object' ? Buffer.from(value.base64, 'base64') : value;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw invalid('a line is not JSON');
  }
}

function invalid(why: string): KindlingError {
  return new KindlingError('KND_IMPORT_INVALID', `this is no whole export of a site’s state: ${why}`);
}
