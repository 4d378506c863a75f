import { expect, test } from 'vitest';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { failingCommit } from './failing-commit.ts';
import { describeStore } from './store-contract.ts';

describeStore({
  name: 'SQLite',
  open: async (options) => new SqliteStore(':memory:', options),
  failCommit: failingCommit,
});

test('a transaction that SQLite has rolled back by itself fails with the first error', async () => {
  const defects: unknown[] = [];
  const store = new SqliteStore(':memory:', { onDefect: (thrown) => defects.push(thrown) });
  const brokenOff = store.transaction(async () => {
    await store.run('ROLLBACK'); // as SQLite does on a full disk
    throw new Error('the first error');
  });
  await expect(brokenOff).rejects.toThrow('the first error');
  const save = "INSERT INTO settings (name, document) VALUES ('a', '{}')";
  await store.transaction(() => store.run(save));
  expect(await store.all('SELECT name FROM settings')).toEqual([{ name: 'a' }]);
  expect(defects).toEqual([]);
  await store.close();
});
