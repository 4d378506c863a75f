import { DatabaseSync } from 'node:sqlite';
import { migrate } from '../sqlite-migrations.ts';

export interface Table {
  name: string;
  /** Without those that the database makes by itself. */
  columns: string[];
  /** What its rows are sorted by, each differing from the next. */
  key: string[];
}

/** The order these were written in is part of the state; SQLite numbers rows by itself, PostgreSQL was told to. */
const IN_ORDER_OF_WRITING = ['workflows'];

/** Every table, those that others refer to first. The migrations make the same ones on every engine, so an empty database knows. */
export function listTables(): Table[] {
  using empty = new DatabaseSync(':memory:');
  migrate(empty);
  const tables = empty
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all();
  return tables.map((table) => {
    const name = String(table['name']);
    const columns = empty
      .prepare('SELECT name, pk FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid')
      .all(name)
      .map((column) => ({ name: String(column['name']), pk: Number(column['pk']) }));
    const primary = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    return {
      name,
      columns: columns.map((column) => column.name),
      key: IN_ORDER_OF_WRITING.includes(name) ? ['rowid'] : primary.map((column) => column.name),
    };
  });
}
