import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EventBus, type NumberedEvent } from '../../../orchestrator-stub/events/bus.ts';
import type { Store, StoreOptions } from '../../../orchestrator-stub/store/store.ts';
import { toHostId } from '../../../protocol/ids.ts';

/** An engine under the contract. */
export interface Engine {
  name: string;
  /** An empty store. */
  open: (options: StoreOptions) => Promise<Store>;
  /** Lets the COMMIT of the open transaction fail, with a message about a foreign key. */
  failCommit: (store: Store) => Promise<void>;
}

/** What every store promises, whatever engine is behind it. */
export function describeStore({ name, open, failCommit }: Engine): void {
  describe(name, () => {
    let store: Store;
    let defects: unknown[];

    beforeEach(async () => {
      defects = [];
      store = await open({ onDefect: (thrown) => defects.push(thrown) });
    });
    afterEach(() => store.close());

    const save = (key: string, document = '{}') =>
      store.run('INSERT INTO settings (name, document) VALUES (?, ?)', key, document);
    const names = async () =>
      (await store.all<{ name: string }>('SELECT name FROM settings ORDER BY name')).map((row) => row.name);

    describe('a statement', () => {
      test('says how many rows it changed, and gives rows back as they were', async () => {
        expect(await save('a', '{"x":"ü"}')).toBe(1);
        expect(await store.run('DELETE FROM settings WHERE name = ?', 'b')).toBe(0);
        expect(await store.get('SELECT name, document FROM settings WHERE name = ?', 'a')).toEqual({
          name: 'a',
          document: '{"x":"ü"}',
        });
        expect(await store.get('SELECT name FROM settings WHERE name = ?', 'b')).toBeUndefined();
        expect(await store.all('SELECT name FROM settings WHERE name = ?', 'b')).toEqual([]);
      });

      test('that fails rejects, changes nothing, and leaves the store usable', async () => {
        await save('a');
        await expect(save('a')).rejects.toThrow(/unique/i);
        await expect(store.all('SELECT nothing FROM settings')).rejects.toThrow();
        expect(await names()).toEqual(['a']);
      });
    });

    describe('a transaction', () => {
      test('is all or nothing', async () => {
        const broken = store.transaction(async () => {
          await save('a');
          throw new Error('no');
        });
        await expect(broken).rejects.toThrow('no');
        expect(await names()).toEqual([]);
        const result = await store.transaction(async () => {
          await save('b');
          await save('c');
          return names();
        });
        expect(result).toEqual(['b', 'c']);
        expect(await names()).toEqual(['b', 'c']);
      });

      test('inside a transaction joins it: what it wrote goes with the outer one', async () => {
        const broken = store.transaction(async () => {
          const outer = store.current;
          await store.transaction(async () => {
            expect(store.current).toBe(outer);
            await save('a');
          });
          expect(await names()).toEqual(['a']);
          throw new Error('no');
        });
        await expect(broken).rejects.toThrow('no');
        expect(await names()).toEqual([]);
      });

      test('is known by a key of its own, which nobody outside of it has', async () => {
        const seen = new Set<object | undefined>();
        const look = async () => {
          await setImmediate();
          seen.add(store.current);
        };
        await Promise.all([store.transaction(look), store.transaction(look)]);
        expect(seen.size).toBe(2);
        expect(seen).not.toContain(undefined);
        expect(store.current).toBeUndefined();
      });

      test('that reads, decides and writes loses nothing to the others that do the same', async () => {
        await save('count', '0');
        const increment = () =>
          store.transaction(async () => {
            const row = await store.get<{ document: string }>(
              'SELECT document FROM settings WHERE name = ?',
              'count',
            );
            await setImmediate();
            await store.run('UPDATE settings SET document = ?', String(Number(row?.document) + 1));
          });
        await Promise.all(Array.from({ length: 20 }, increment));
        expect(await store.get('SELECT document FROM settings')).toEqual({ document: '20' });
      });

      test('is seen from outside as a whole or not at all', async () => {
        const { promise: halfway, resolve: isHalfway } = Promise.withResolvers<void>();
        const { promise: asked, resolve: hasAsked } = Promise.withResolvers<void>();
        const writing = store.transaction(async () => {
          await save('a');
          isHalfway();
          await asked;
          await save('b');
        });
        await halfway;
        const seen = names();
        hasAsked();
        await writing;
        expect([0, 2]).toContain((await seen).length);
        expect(await names()).toEqual(['a', 'b']);
      });

      test('that is rolled back takes nothing along that others wrote meanwhile', async () => {
        const { promise: halfway, resolve: isHalfway } = Promise.withResolvers<void>();
        const { promise: asked, resolve: hasAsked } = Promise.withResolvers<void>();
        const broken = store.transaction(async () => {
          await save('a');
          isHalfway();
          await asked;
          throw new Error('no');
        });
        await halfway;
        const others = [save('b'), store.transaction(() => save('c'))];
        hasAsked();
        await expect(broken).rejects.toThrow('no');
        await Promise.all(others);
        expect(await names()).toEqual(['b', 'c']);
      });

      test('does not last beyond its end for what it has started and not waited for', async () => {
        let started: Promise<unknown> = Promise.resolve();
        const { promise: over, resolve: isOver } = Promise.withResolvers<void>();
        await store.transaction(async () => {
          await save('a');
          started = over.then(() => {
            expect(store.current).toBeUndefined();
            return store.transaction(() => save('b'));
          });
        });
        isOver();
        await started;
        expect(await names()).toEqual(['a', 'b']);
      });

      test('is ended by close(), not cut off', async () => {
        const other = await open({ onDefect: (thrown) => defects.push(thrown) });
        const writing = other.transaction(async () => {
          await setImmediate();
          return other.run("INSERT INTO settings (name, document) VALUES ('a', '{}')");
        });
        const closed = other.close();
        expect(await writing).toBe(1);
        await closed;
      });
    });

    describe('what follows a commit', () => {
      test('happens after COMMIT, in order, outside of the transaction', async () => {
        const seen: string[] = [];
        const tell = (what: string) => () => seen.push(`${what}, inside: ${store.current !== undefined}`);
        await store.transaction(async () => {
          store.afterCommit(tell('first'));
          await save('a');
          await store.transaction(async () => {
            await save('b');
            store.afterCommit(tell('second'));
          });
          expect(seen).toEqual([]);
        });
        expect(seen).toEqual(['first, inside: false', 'second, inside: false']);
      });

      test('has happened before the next one that writes begins', async () => {
        const seen: string[] = [];
        const first = store.transaction(async () => {
          await save('a');
          store.afterCommit(() => seen.push('follows the first'));
        });
        const second = store.transaction(async () => {
          seen.push('second');
          await save('b');
        });
        await Promise.all([first, second]);
        expect(seen).toEqual(['follows the first', 'second']);
      });

      test('never happens when the work throws or COMMIT fails', async () => {
        const seen: string[] = [];
        const throwing = store.transaction(async () => {
          await save('a');
          store.afterCommit(() => seen.push('told'));
          throw new Error('no');
        });
        await expect(throwing).rejects.toThrow('no');
        const uncommitted = store.transaction(async () => {
          await save('b');
          store.afterCommit(() => seen.push('told'));
          await failCommit(store);
        });
        await expect(uncommitted).rejects.toThrow(/foreign key/i);
        expect(await names()).toEqual([]);
        await store.transaction(() => save('c'));
        expect(seen).toEqual([]);
        expect(await names()).toEqual(['c']);
      });

      test('happens at once outside of a transaction', () => {
        let isDone = false;
        store.afterCommit(() => {
          isDone = true;
        });
        expect(isDone).toBe(true);
      });

      test('and fails, is a defect of its own: the change is done, and the others follow', async () => {
        const seen: string[] = [];
        const result = await store.transaction(async () => {
          await save('a');
          store.afterCommit(() => {
            throw new Error('a watcher fell over');
          });
          store.afterCommit(() => seen.push('told'));
          return 'saved';
        });
        expect(result).toBe('saved');
        expect(seen).toEqual(['told']);
        expect(defects).toEqual([new Error('a watcher fell over')]);
      });

      test('may change something itself', async () => {
        let following: Promise<unknown> = Promise.resolve();
        await store.transaction(async () => {
          await save('a');
          store.afterCommit(() => {
            following = store.transaction(() => save('b'));
          });
        });
        await following;
        expect(await names()).toEqual(['a', 'b']);
      });

      test('comes after what was told: whatever follows finds memory as the database is', async () => {
        const seen: unknown[] = [];
        store.hear('settings', (body, { isOwn }) => seen.push({ body, isOwn }));
        await store.transaction(async () => {
          store.afterCommit(() => seen.push('follows'));
          await save('a');
          store.tell({ topic: 'settings', body: { name: 'a' } });
          store.tell({ topic: 'people', body: 'for others' });
        });
        expect(seen).toEqual([{ body: { name: 'a' }, isOwn: true }, 'follows']);
      });

      test('is also what watchers hear: no event before its COMMIT, none of what was rolled back', async () => {
        const bus = new EventBus(store);
        const heard: NumberedEvent[] = [];
        bus.subscribe((event) => heard.push(event));
        const publish = (what: string) => bus.publish({ type: 'log', nodeId: toHostId(what), lines: [] });
        const lost = store.transaction(async () => {
          publish('lost');
          await failCommit(store);
        });
        await expect(lost).rejects.toThrow(/foreign key/i);
        await store.transaction(async () => {
          publish('kept');
          await setImmediate();
          expect(heard).toEqual([]);
        });
        expect(heard.map(({ event }) => event.nodeId)).toEqual(['kept']);
      });

      test('goes without a transaction where there is none, and is numbered with the others', async () => {
        const ids: number[] = [];
        const before = store.lastId;
        store.hear('event', (_, { id }) => ids.push(id));
        store.tell({ topic: 'event', body: 'alone' });
        await expect.poll(() => ids).toEqual([before + 1]);
        await store.transaction(async () => store.tell({ topic: 'event', body: 'with a change' }));
        expect(ids).toEqual([before + 1, before + 2]);
        expect(store.lastId).toBe(before + 2);
      });
    });
  });
}
