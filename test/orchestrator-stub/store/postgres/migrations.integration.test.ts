import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { PostgresCluster, queryOnce } from '../../../../lab/postgres/cluster.ts';
import { STEPS } from '../../../../orchestrator-stub/store/migrations.ts';
import { PostgresStore } from '../../../../orchestrator-stub/store/postgres/postgres-store.ts';
import { migrate } from '../../../../orchestrator-stub/store/sqlite-migrations.ts';
import type { StoreOptions } from '../../../../orchestrator-stub/store/store.ts';

const OPTIONS: StoreOptions = {
  onDefect: (thrown) => {
    throw thrown;
  },
};

const KINDS: Record<string, string> = {
  TEXT: 'text',
  INTEGER: 'bigint',
  REAL: 'double precision',
  BLOB: 'bytea',
};

test('both engines have the same tables, columns, indexes and documents; a newer layout is refused', async () => {
  await using cluster = await PostgresCluster.start();
  const url = await cluster.freshSchema();
  const store = await PostgresStore.open({ url }, OPTIONS);

  // the same columns
  using sqlite = new DatabaseSync(':memory:');
  migrate(sqlite);
  const columns = await store.all<{ column: string }>(
    `SELECT table_name || '.' || column_name || ' ' || data_type ||
            CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END ||
            CASE is_generated WHEN 'ALWAYS' THEN ' GENERATED' ELSE '' END AS "column"
     FROM information_schema.columns WHERE table_schema = current_schema()
     AND table_name NOT LIKE 'kindling%' AND column_name <> 'rowid'`,
  );
  expect(columns.map(({ column }) => column).sort()).toEqual(sqliteColumns(sqlite));

  // the same indexes
  const indexes = await store.all<{ name: string }>(
    `SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
     WHERE relnamespace = current_schema()::regnamespace
     AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`,
  );
  const known = sqlite
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
    .all();
  expect(indexes.map(({ name }) => name).sort()).toEqual(known.map(({ name }) => String(name)).sort());

  // the same in generated columns
  const documents = [
    { id: 'a', uuid: 'U', serial: 'ABCÜ', mac: null, isRegistered: true, createdAt: '2026', signIn: 'true' },
    { id: 'b', isRegistered: false, isUninvited: true, createdAt: 'Ünder \u{1f600}' },
    { id: 'c', isRegistered: true, isUninvited: true, signIn: 7 },
    { id: 'Z' },
  ];
  const insert = 'INSERT INTO hosts (id, document) VALUES (?, ?)';
  for (const document of documents) {
    sqlite.prepare(insert).run(document.id, JSON.stringify(document));
    await store.run(insert, document.id, JSON.stringify(document));
  }
  // SQLite has NULL where PostgreSQL's CASE has 0: nobody asks for anything but 1.
  const select = `SELECT id, document, uuid, serial, mac, is_registered, created_at, sign_in,
    coalesce(is_unknown, 0) AS is_unknown FROM hosts ORDER BY id`;
  const rows = sqlite.prepare(select).all();
  expect(await store.all(select)).toEqual(rows.map((row) => ({ ...row })));

  // opened again it is not migrated again; a newer one is left alone
  await store.close();
  await (await PostgresStore.open({ url }, OPTIONS)).close();
  await queryOnce(url, `UPDATE kindling_layout SET version = ${STEPS.length + 1}`);
  await expect(PostgresStore.open({ url }, OPTIONS)).rejects.toMatchObject({ code: 'KND_STUB_STATE' });
});

function sqliteColumns(database: DatabaseSync): string[] {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return tables
    .filter(({ name }) => !String(name).startsWith('sqlite_'))
    .flatMap(({ name }) =>
      database
        .prepare('SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)')
        .all(String(name))
        .map((column) => {
          // SQLite writes the words of a generated column into its type.
          const kind = KINDS[String(column['type']).split(' ')[0] ?? ''];
          const isNeeded = column['notnull'] === 1 || Number(column['pk']) > 0;
          const isGenerated = Number(column['hidden']) > 0;
          return `${name}.${column['name']} ${kind}${isNeeded ? ' NOT NULL' : ''}${isGenerated ? ' GENERATED' : ''}`;
        }),
    )
    .sort();
}
