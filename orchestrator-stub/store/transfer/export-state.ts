import { createHash, type Hash } from 'node:crypto';
import { STEPS } from '../migrations.ts';
import { toStorable } from '../storable-text.ts';
import type { Store, StoreValue } from '../store.ts';
import { listTables, type Table } from './tables.ts';

const PAGE_ROWS = 500;

/** The logical content of a store: how many rows it has, and a hash that is the same on every engine. */
export interface StateDigest {
  rows: number;
  sha256: string;
}

/** Gives the state line by line: what it is, every row of every table, and a digest at the end. */
export async function exportState(
  store: Store,
  write: (line: string) => Promise<void>,
): Promise<StateDigest> {
  await write(JSON.stringify({ kindling: 'state', layout: STEPS.length }));
  const digest = await digestState(store, write);
  await write(JSON.stringify(digest));
  return digest;
}

/** The digest of what is in the store now, all of it from one moment. */
export async function digestState(
  store: Store,
  each: (line: string) => Promise<void> = async () => {},
): Promise<StateDigest> {
  return store.transaction(async () => {
    const sum = new RowDigest();
    for (const table of listTables()) {
      for await (const row of rowsOf(store, table)) {
        const line = formatRow(table, row);
        sum.add(line);
        await each(line);
      }
    }
    return sum.end();
  });
}

/** Counts and hashes the lines of rows, in their order. */
export class RowDigest {
  readonly #hash: Hash = createHash('sha256');
  #rows = 0;

  add(line: string): void {
    this.#rows += 1;
    this.#hash.update(`${line}\n`);
  }

  end(): StateDigest {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') };
  }
}

type Row = Record<string, StoreValue>;

/** A page after the other: the logs of a site may be larger than memory. */
async function* rowsOf(store: Store, { name, columns, key }: Table): AsyncGenerator<Row> {
  const keys = key.map(quote).join(', ');
  const select = `SELECT ${[...new Set([...columns, ...key])].map(quote).join(', ')} FROM ${quote(name)}`;
  const marks = key.map(() => '?').join(', ');
  let last: Row | undefined;
  do {
    const after = last;
    const page: Row[] = after
      ? await store.all<Row>(
          `${select} WHERE (${keys}) > (${marks}) ORDER BY ${keys} LIMIT ${PAGE_ROWS}`,
          ...key.map((column) => after[column] ?? null),
        )
      : await store.all<Row>(`${select} ORDER BY ${keys} LIMIT ${PAGE_ROWS}`);
    yield* page;
    last = page.length === PAGE_ROWS ? page.at(-1) : undefined;
  } while (last);
}

/** Columns in the order of the table, text as every engine can keep it. */
function formatRow(table: Table, row: Row): string {
  const values = table.columns.map((column) => [column, formatValue(row[column] ?? null)]);
  return JSON.stringify({ table: table.name, row: Object.fromEntries(values) });
}

function formatValue(value: StoreValue): unknown {
  if (typeof value === 'string') return toStorable(value);
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  return typeof value === 'bigint' ? Number(value) : value;
}

function quote(name: string): string {
  return `"${name}"`;
}
