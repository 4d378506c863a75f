import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PostgresCluster } from '../../../lab/postgres/cluster.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { run } from '../../../system/run.ts';

const MAIN = join(import.meta.dirname, '../../../cli/main.ts');
const state = (...args: string[]) =>
  run(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, 'state', ...args], {
    okExitCodes: [0, 2, 4],
  });

test('a site moves from SQLite to PostgreSQL and back, and is the same: by its hash, and by every line', async () => {
  await using cluster = await PostgresCluster.start();
  const folder = await mkdtemp(join(tmpdir(), 'kindling-transfer-'));
  const path = (name: string) => join(folder, name);
  try {
    const url = await cluster.freshSchema();
    await fill(path('kindling.sqlite'));

    const out = await state('export', path('first'), '--state', folder);
    const digest = (result: { stdout: string }) => result.stdout.split('\n')[0];
    expect(out.stdout).toMatch(
      /^506 rows, sha256 [0-9a-f]{64}\nits secrets are sealed: take the key file along/,
    );
    expect((await stat(path('first'))).mode & 0o777).toBe(0o600);
    const into = await state('import', path('first'), '--state', folder, '--database', url);
    expect(digest(into)).toBe(digest(out));
    const again = await state('export', path('second'), '--state', folder, '--database', url);
    expect(digest(again)).toBe(digest(out));
    expect(await readFile(path('second'), 'utf8')).toBe(await readFile(path('first'), 'utf8'));

    // a database that has something is left alone
    const full = await state('import', path('first'), '--state', folder, '--database', url);
    expect([full.exitCode, full.stderr]).toEqual([4, expect.stringContaining('KND_IMPORT_NOT_EMPTY')]);

    // a file that was changed or cut off changes nothing
    const lines = (await readFile(path('first'), 'utf8')).split('\n');
    await writeFile(path('cut'), lines.slice(0, -3).join('\n'));
    await writeFile(path('changed'), lines.join('\n').replace('Zoë', 'Zoe'));
    for (const bad of ['cut', 'changed']) {
      const refused = await state('import', path(bad), '--state', path('new'));
      expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('KND_IMPORT_INVALID')]);
    }
    const back = await state('import', path('second'), '--state', path('new'));
    expect(digest(back)).toBe(digest(out));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** Hosts, workflows whose order is not that of their ids, more log lines than one page has, and texts that engines differ about. */
async function fill(path: string): Promise<void> {
  const store = new SqliteStore(path, { onDefect: () => {} });
  await store.transaction(async () => {
    const host = JSON.stringify({ uuid: 'u', serial: 'S', name: 'Zoë \u2028 \0', isRegistered: true });
    await store.run('INSERT INTO hosts (id, document) VALUES (?, ?)', 'host-b', host);
    await store.run('INSERT INTO hosts (id, document) VALUES (?, ?)', 'host-B', '{"isRegistered":false}');
    for (const id of ['z', 'a'])
      await store.run(
        "INSERT INTO workflows (id, host_id, definition) VALUES (?, 'host-b', '{\"actions\":[]}')",
        id,
      );
    for (let line = 1; line <= 501; line++)
      await store.run(
        `INSERT INTO log_lines (host_id, stream, sequence, time, level, message, fields)
         VALUES ('host-b', 's', ?, 't', 'info', ?, NULL)`,
        line,
        line === 1 ? 'NUL \0 and ü' : `line ${line}`,
      );
  });
  await store.close();
}
