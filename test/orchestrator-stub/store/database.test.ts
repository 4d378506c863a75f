import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EventBus, type NumberedEvent } from '../../../orchestrator-stub/events/bus.ts';
import { Database } from '../../../orchestrator-stub/store/database.ts';
import { toHostId } from '../../../protocol/ids.ts';
import { failingCommit } from './failing-commit.ts';

let database: Database;
let defects: unknown[];

beforeEach(() => {
  defects = [];
  database = new Database(':memory:', { onDefect: (thrown) => defects.push(thrown) });
});
afterEach(() => database.close());

const save = (name: string) =>
  database.run('INSERT INTO settings (name, document) VALUES (?, ?)', name, '{}');
const names = () => database.all<{ name: string }>('SELECT name FROM settings').map(({ name }) => name);

describe('what follows a commit', () => {
  test('happens after COMMIT, in order, and sees what was committed', () => {
    const seen: string[] = [];
    database.transaction(() => {
      database.afterCommit(() => seen.push(`first, ${names().length} saved`));
      save('a');
      database.transaction(() => {
        save('b');
        database.afterCommit(() => seen.push(`second, in transaction: ${database.isInTransaction}`));
      });
      expect(seen).toEqual([]);
    });
    expect(seen).toEqual(['first, 2 saved', 'second, in transaction: false']);
  });

  test('never happens when the work throws or COMMIT fails', () => {
    const seen: string[] = [];
    const throwing = () =>
      database.transaction(() => {
        save('a');
        database.afterCommit(() => seen.push('told'));
        throw new Error('no');
      });
    expect(throwing).toThrow('no');
    const uncommitted = () =>
      database.transaction(() => {
        save('b');
        database.afterCommit(() => seen.push('told'));
        failingCommit(database);
      });
    expect(uncommitted).toThrow(/FOREIGN KEY/);
    expect(seen).toEqual([]);
    expect(names()).toEqual([]);
    database.transaction(() => save('c'));
    expect(seen).toEqual([]);
    expect(names()).toEqual(['c']);
  });

  test('happens at once outside of a transaction', () => {
    let isDone = false;
    database.afterCommit(() => {
      isDone = true;
    });
    expect(isDone).toBe(true);
  });

  test('and fails, is a defect of its own: the change is done, and the others follow', () => {
    const seen: string[] = [];
    const result = database.transaction(() => {
      save('a');
      database.afterCommit(() => {
        throw new Error('a watcher fell over');
      });
      database.afterCommit(() => seen.push('told'));
      return 'saved';
    });
    expect(result).toBe('saved');
    expect(seen).toEqual(['told']);
    expect(defects).toEqual([new Error('a watcher fell over')]);
  });

  test('may change something itself', () => {
    database.transaction(() => {
      save('a');
      database.afterCommit(() => database.transaction(() => save('b')));
    });
    expect(names()).toEqual(['a', 'b']);
  });
});

test('nobody hears of an event before its transaction is committed, nor of one that was rolled back', () => {
  const bus = new EventBus(database);
  const heard: NumberedEvent[] = [];
  bus.subscribe((event) => heard.push(event));
  const publish = (what: string) => bus.publish({ type: 'log', nodeId: toHostId(what), lines: [] });
  expect(() =>
    database.transaction(() => {
      publish('lost');
      failingCommit(database);
    }),
  ).toThrow(/FOREIGN KEY/);
  database.transaction(() => {
    publish('kept');
    expect(heard).toEqual([]);
  });
  expect(heard.map(({ event }) => event.nodeId)).toEqual(['kept']);
});

test('a transaction that SQLite has rolled back by itself fails with the first error', () => {
  const brokenOff = () =>
    database.transaction(() => {
      database.run('ROLLBACK'); // as SQLite does on a full disk
      throw new Error('the first error');
    });
  expect(brokenOff).toThrow('the first error');
  database.transaction(() => save('a'));
  expect(names()).toEqual(['a']);
  expect(defects).toEqual([]);
});
