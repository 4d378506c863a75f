import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PostgresCluster, queryOnce } from '../../../../lab/postgres/cluster.ts';
import { CuttableProxy } from '../../../../lab/postgres/cuttable-proxy.ts';
import { PostgresStore } from '../../../../orchestrator-stub/store/postgres/postgres-store.ts';
import type { Store, StoreOptions } from '../../../../orchestrator-stub/store/store.ts';

let cluster: PostgresCluster;
let url: string;
const defects: unknown[] = [];
const options: StoreOptions = { onDefect: (thrown) => defects.push(thrown) };

beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  expect(defects).toEqual([]);
});
beforeEach(async () => {
  url = await cluster.freshSchema();
});

const save = (store: Store, name: string, document = '{}') =>
  store.run('INSERT INTO settings (name, document) VALUES (?, ?)', name, document);
const names = async (store: Store) =>
  (await store.all<{ name: string }>('SELECT name FROM settings ORDER BY name')).map(({ name }) => name);

describe('a connection that is lost', () => {
  const through = (proxy: CuttableProxy) =>
    PostgresStore.open(
      { url: url.replace(encodeURIComponent(cluster.folder), encodeURIComponent(proxy.folder)) },
      options,
    );

  test('has a code of its own; nothing is changed, and it is made anew by itself', async () => {
    await using proxy = await CuttableProxy.start(cluster.folder);
    const store = await through(proxy);
    await save(store, 'before');
    const torn = store.transaction(async () => {
      await save(store, 'torn');
      proxy.cut();
      await save(store, 'never');
    });
    await expect(torn).rejects.toMatchObject({ code: 'KND_STATE_CONNECTION', retryable: true });
    await expect(names(store)).rejects.toMatchObject({ code: 'KND_STATE_CONNECTION' });
    await expect(save(store, 'never')).rejects.toMatchObject({ code: 'KND_STATE_CONNECTION' });
    expect(store.health.failure?.code).toBe('KND_STATE_CONNECTION');
    proxy.mend();
    await expect.poll(() => store.health.failure).toBeUndefined();
    await save(store, 'after');
    expect(await names(store)).toEqual(['after', 'before']);
    await store.close();
  });

  test.each([
    { lost: 'the answer to COMMIT', isCommitted: true },
    { lost: 'COMMIT itself', isCommitted: false },
  ])('with $lost: what was told is heard later, if it happened', async ({ isCommitted }) => {
    await using proxy = await CuttableProxy.start(cluster.folder);
    const store = await through(proxy);
    const heard: unknown[] = [];
    store.hear('event', (body) => heard.push(body));
    if (isCommitted) proxy.loseAnswerTo('COMMIT');
    else proxy.loseRequest('COMMIT');
    const unsettled = store.transaction(async () => {
      await save(store, 'a');
      store.tell({ topic: 'event', body: 'a' });
    });
    await expect(unsettled).rejects.toMatchObject({ code: 'KND_STATE_CONNECTION' });
    await store.refresh();
    expect(await names(store)).toEqual(isCommitted ? ['a'] : []);
    expect(heard).toEqual(isCommitted ? ['a'] : []);
    await store.transaction(async () => {
      await save(store, 'b');
      store.tell({ topic: 'event', body: 'b' });
    });
    expect(heard).toEqual(isCommitted ? ['a', 'b'] : ['b']);
    await store.close();
  });
});

describe('another program', () => {
  test('that changes the same row lets the transaction be done anew, what it did before forgotten', async () => {
    const store = await PostgresStore.open({ url }, options);
    await save(store, 'count', '1');
    const told: number[] = [];
    let attempts = 0;
    await store.transaction(async () => {
      attempts += 1;
      const attempt = attempts;
      store.afterCommit(() => told.push(attempt));
      const row = await store.get<{ document: string }>("SELECT document FROM settings WHERE name = 'count'");
      if (attempt === 1) await queryOnce(url, "UPDATE settings SET document = '10'");
      await store.run('UPDATE settings SET document = ?', String(Number(row?.document) + 1));
    });
    expect(await store.all('SELECT document FROM settings')).toEqual([{ document: '11' }]);
    expect([attempts, told]).toEqual([2, [2]]);
    await store.close();
  });

  test('that does so every time ends it after ten attempts', async () => {
    const store = await PostgresStore.open({ url }, options);
    await save(store, 'count', '1');
    let attempts = 0;
    const endless = store.transaction(async () => {
      attempts += 1;
      await store.all('SELECT document FROM settings');
      await queryOnce(url, `UPDATE settings SET document = '${attempts}'`);
      await store.run("UPDATE settings SET document = 'mine'");
    });
    await expect(endless).rejects.toMatchObject({ code: 'KND_STATE_CONFLICT' });
    expect(attempts).toBe(10);
    expect(store.health.failure).toBeUndefined();
    await store.close();
  });
});

test('what PostgreSQL cannot keep is replaced: a machine that sends NUL is not refused for ever', async () => {
  const store = await PostgresStore.open({ url }, options);
  await save(store, 'nul\0', JSON.stringify({ a: '\0 \ud800 ü' }));
  expect(await store.all('SELECT name, document FROM settings')).toEqual([
    { name: 'nul\ufffd', document: '{"a":"\\ufffd \\ufffd ü"}' },
  ]);
  await store.close();
});

test('a database that is not there, and one that does not answer, are told apart', async () => {
  const missing = url.replace('/postgres?', '/missing?');
  await expect(PostgresStore.open({ url: missing }, options)).rejects.toMatchObject({
    code: 'KND_STATE_REFUSED',
    message: expect.stringContaining('"missing" does not exist'),
  });
  await expect(
    PostgresStore.open({ url: 'postgres://a:secret@127.0.0.1:1/x' }, options),
  ).rejects.toMatchObject({
    code: 'KND_STATE_CONNECTION',
    message: expect.not.stringContaining('secret'),
  });
  await expect(PostgresStore.open({ url: 'mysql://a' }, options)).rejects.toMatchObject({
    code: 'KND_USAGE',
  });
});
