import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PostgresCluster, queryOnce } from '../../../../lab/postgres/cluster.ts';
import { EventBus } from '../../../../orchestrator-stub/events/bus.ts';
import { PostgresStore } from '../../../../orchestrator-stub/store/postgres/postgres-store.ts';
import type { Store, StoreOptions } from '../../../../orchestrator-stub/store/store.ts';
import { toHostId } from '../../../../protocol/ids.ts';

let cluster: PostgresCluster;
let url: string;
let a: Store;
let b: Store;
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
  a = await PostgresStore.open({ url }, options);
  b = await PostgresStore.open({ url }, options);
});
afterEach(async () => {
  await a.close();
  await b.close();
});

interface HeardMessage {
  id: number;
  body: unknown;
}

function record(store: Store): HeardMessage[] {
  const heard: HeardMessage[] = [];
  store.hear('event', (body, { id }) => heard.push({ id, body }));
  return heard;
}

/** A change that reads, decides and writes. */
async function count(store: Store, teller: string): Promise<void> {
  await store.transaction(async () => {
    const row = await store.get<{ document: string }>("SELECT document FROM settings WHERE name = 'count'");
    const next = Number(row?.document ?? 0) + 1;
    await store.run(
      `INSERT INTO settings (name, document) VALUES ('count', ?)
       ON CONFLICT (name) DO UPDATE SET document = excluded.document`,
      String(next),
    );
    store.tell({ topic: 'event', body: { next, teller } });
  });
}

describe('two processes on one database', () => {
  test('change it in turns: nothing is lost, and both hear all of it in the order of commits', async () => {
    const [heardByA, heardByB] = [record(a), record(b)];
    const work = Array.from({ length: 40 }, (_, index) => (index % 2 ? count(a, 'a') : count(b, 'b')));
    await Promise.all(work);
    await Promise.all([a.refresh(), b.refresh()]);
    expect(heardByA.map(({ body }) => body)).toEqual(
      Array.from({ length: 40 }, (_, index) => expect.objectContaining({ next: index + 1 })),
    );
    expect(heardByB).toEqual(heardByA);
    const ids = heardByA.map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
  });

  test('decide by what the other has changed: a transaction begins with what was told before it', async () => {
    const heard = record(b);
    await count(a, 'a');
    expect(heard).toEqual([]);
    await b.transaction(async () => {
      expect(heard.map(({ body }) => body)).toEqual([{ next: 1, teller: 'a' }]);
    });
  });

  test('do not hear of what was rolled back', async () => {
    const heard = record(b);
    const torn = a.transaction(async () => {
      a.tell({ topic: 'event', body: 'never' });
      throw new Error('no');
    });
    await expect(torn).rejects.toThrow('no');
    await count(a, 'a');
    await b.refresh();
    expect(heard.map(({ body }) => body)).toEqual([{ next: 1, teller: 'a' }]);
  });

  test('wake each other: what follows hears without asking', async () => {
    const heard = record(b);
    b.follow();
    await count(a, 'a');
    a.tell({ topic: 'event', body: 'by itself' });
    await expect.poll(() => heard.map(({ body }) => body)).toEqual([{ next: 1, teller: 'a' }, 'by itself']);
  });

  test('give a watcher that moves from one to the other, or to a third that starts later, every event once', async () => {
    const publish = (bus: EventBus, line: number) =>
      bus.publish({ type: 'log', nodeId: toHostId('host-1'), lines: [line] });
    const linesAfter = (bus: EventBus, lastId: number) => {
      const lines: unknown[] = [];
      bus.subscribe(({ event }) => lines.push(...(event.type === 'log' ? event.lines : [])), lastId)();
      return lines;
    };
    const [busOfA, busOfB] = [new EventBus(a), new EventBus(b)];
    const start = busOfA.lastId;
    await a.transaction(async () => publish(busOfA, 1));
    await b.transaction(async () => publish(busOfB, 2));
    const middle = busOfB.lastId;
    await a.transaction(async () => publish(busOfA, 3));
    await b.refresh();
    expect(linesAfter(busOfB, start)).toEqual([1, 2, 3]);
    expect(linesAfter(busOfA, middle)).toEqual([3]);
    const third = await PostgresStore.open({ url }, options);
    const busOfThird = new EventBus(third);
    await busOfThird.recall();
    expect(linesAfter(busOfThird, middle)).toEqual([3]);
    expect(busOfThird.hasForgotten(middle)).toBe(false);
    expect(busOfThird.hasForgotten(start - 2)).toBe(true);
    await third.close();
  });
});

test('a process that stands still in a transaction loses it, and the others go on', async () => {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>();
  const frozen = a.transaction(async () => {
    await a.run("INSERT INTO settings (name, document) VALUES ('frozen', '{}')");
    begin();
    await isOver;
    await a.run("INSERT INTO settings (name, document) VALUES ('thawed', '{}')");
  });
  const outcome = expect(frozen).rejects.toMatchObject({ code: 'KND_STATE_CONNECTION' });
  await isBegun;
  await count(b, 'b');
  resolve();
  await outcome;
  expect(await b.all('SELECT name FROM settings')).toEqual([{ name: 'count' }]);
}, 30_000);

test('a process that cannot catch up any more changes nothing until it is started again', async () => {
  await count(b, 'b');
  await count(b, 'b');
  await queryOnce(url, 'DELETE FROM kindling_outbox WHERE id < (SELECT max(id) FROM kindling_outbox)');
  await expect(a.refresh()).rejects.toMatchObject({ code: 'KND_STATE_BEHIND' });
  await expect(count(a, 'a')).rejects.toMatchObject({ code: 'KND_STATE_BEHIND' });
  await count(b, 'b');
  expect(await b.all('SELECT document FROM settings')).toEqual([{ document: '3' }]);
});

describe('one that needs the database alone', () => {
  test('is refused while others use it, and keeps them out afterwards', async () => {
    const alone = () => PostgresStore.open({ url }, { ...options, isAlone: true });
    await expect(alone()).rejects.toMatchObject({ code: 'KND_STATE_IN_USE' });
    await a.close();
    await b.close();
    const store = await alone();
    await expect(PostgresStore.open({ url }, options)).rejects.toMatchObject({ code: 'KND_STATE_IN_USE' });
    await store.close();
  });

  test('is a newer version too: it does not change the layout under an older one', async () => {
    await queryOnce(url, 'UPDATE kindling_layout SET version = version - 1');
    await expect(PostgresStore.open({ url }, options)).rejects.toMatchObject({
      code: 'KND_STATE_IN_USE',
      message: expect.stringContaining('older version'),
    });
  });
});
