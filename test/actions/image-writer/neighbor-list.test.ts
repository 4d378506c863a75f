import { expect, test } from 'vitest';
import { NeighborList } from '../../../actions/image-writer/chunks/neighbors/neighbor-list.ts';

const urls = (...numbers: number[]) => numbers.map((number) => `http://10.0.0.${number}:7070`);

test('what one thread sets the others see, and who goes may come back', () => {
  const list = new NeighborList();
  const other = new NeighborList(list.memory);
  list.set(urls(1, 2));
  expect(other.listed()).toEqual(urls(1, 2));
  list.set(urls(2, 3));
  expect(other.listed()).toEqual(urls(2, 3));
  list.set(urls(1));
  expect(other.listed()).toEqual(urls(1));
});

test('who was dropped by one thread is dropped for all, even if the orchestrator names it again', () => {
  const list = new NeighborList();
  list.set(urls(1, 2));
  new NeighborList(list.memory).drop('http://10.0.0.1:7070');
  list.set(urls(1, 2));
  expect(list.listed()).toEqual(urls(2));
  list.set([]);
  list.set(urls(1, 2));
  expect(list.listed()).toEqual(urls(2));
  expect(list.dropped()).toEqual(urls(1));
});

test('more than fit, and addresses longer than any, are left out', () => {
  const list = new NeighborList();
  const many = Array.from({ length: 300 }, (_, at) => `http://10.0.${at >> 8}.${at & 255}:7070`);
  list.set([`http://${'x'.repeat(200)}`, ...many]);
  expect(list.listed()).toEqual(many.slice(0, 256));
});
