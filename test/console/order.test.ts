import { expect, it } from 'vitest';
import { firstOrder, nextOrder } from '../../console/live/order.ts';
import type { FloorGroup } from '../../protocol/floor.ts';
import { floorNode } from './floor-nodes.ts';

const at = (minute: number) => `2026-11-18T09:0${minute}:00.000Z`;
const order = firstOrder([
  floorNode({ id: 'a', group: 'needs-hand', since: at(5) }),
  floorNode({ id: 'b', group: 'needs-hand', since: at(1) }),
  floorNode({ id: 'c', stageIndex: 1 }),
  floorNode({ id: 'd', stageIndex: 3 }),
  floorNode({ id: 'e', group: 'done', since: at(2) }),
  floorNode({ id: 'f', group: 'done', since: at(4) }),
]);
const moves = (entries: Record<string, FloorGroup | null>) => new Map(Object.entries(entries));

it('who waits longest for a hand is first, who is nearest to done, who was done last', () => {
  expect(order).toEqual({
    'needs-hand': ['b', 'a'],
    running: ['d', 'c'],
    waiting: [],
    done: ['f', 'e'],
    strangers: [],
  });
});

it('a row moves only when it changes its group: to the end of the next, or to its top where the newest counts', () => {
  const next = nextOrder(order, moves({ d: 'needs-hand', c: 'done' }));
  expect(next).toMatchObject({ 'needs-hand': ['b', 'a', 'd'], running: [], done: ['c', 'f', 'e'] });
});

it('a node that is new comes in, one that is deleted goes', () => {
  expect(nextOrder(order, moves({ g: 'strangers', b: null }))).toMatchObject({
    'needs-hand': ['a'],
    strangers: ['g'],
  });
});

it('groups that nothing came into or left are the same list as before', () => {
  const next = nextOrder(order, moves({ d: 'needs-hand' }));
  expect(next.done).toBe(order.done);
  expect(nextOrder(order, new Map())).toBe(order);
});
