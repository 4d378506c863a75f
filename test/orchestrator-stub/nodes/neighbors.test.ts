import { beforeEach, expect, test } from 'vitest';
import { Neighbors } from '../../../orchestrator-stub/nodes/neighbors.ts';
import { toHostId } from '../../../protocol/ids.ts';

let now: number;
let dropped: string[];
let neighbors: Neighbors;
beforeEach(() => {
  now = 0;
  dropped = [];
  neighbors = new Neighbors({ now: () => new Date(now), onDropped: (hostId) => dropped.push(hostId) });
});

const ROOT = 'a'.repeat(64);
const addressOf = (host: string) => `10.0.0.${host}`;
const urlOf = (host: string) => `http://${addressOf(host)}:7070`;

function announce(host: string, change: { root?: string; seenFrom?: string; dropped?: string[] } = {}) {
  const { root = ROOT, seenFrom = addressOf(host) } = change;
  const says = { root, address: addressOf(host), port: 7070, dropped: change.dropped ?? [] };
  return neighbors.announce(toHostId(host), says, seenFrom).neighbours;
}

test('hosts that serve the same image are named to each other, and to nobody else', () => {
  expect(announce('1')).toEqual([]);
  expect(announce('2')).toEqual([urlOf('1')]);
  expect(announce('3', { root: 'b'.repeat(64) })).toEqual([]);
  expect(announce('1')).toEqual([urlOf('2')]);
});

test('hosts behind two different NATs cannot reach each other', () => {
  announce('1', { seenFrom: '203.0.113.1' });
  announce('2', { seenFrom: '203.0.113.2' });
  expect(announce('3', { seenFrom: '203.0.113.1' })).toEqual([urlOf('1')]);
  expect(announce('4')).toEqual([]);
});

test('a host that leaves, or is not heard of any more, is not named', () => {
  announce('1');
  announce('2');
  neighbors.leave(toHostId('1'));
  expect(announce('3')).toEqual([urlOf('2')]);
  now += 60_000;
  expect(announce('3')).toEqual([]);
});

test('who serves garbage is not named to the one that got it; to nobody, once two have told', () => {
  for (const host of ['1', '2', '3', '4']) announce(host);
  expect(announce('2', { dropped: [urlOf('1')] })).not.toContain(urlOf('1'));
  expect(announce('3')).toContain(urlOf('1'));
  announce('2', { dropped: [urlOf('1')] }); // saying it again makes it no truer
  expect(dropped).toEqual([]);
  announce('3', { dropped: [urlOf('1'), 'http://nobody:1', urlOf('3')] });
  expect(dropped).toEqual(['1']);
  announce('1');
  expect(announce('4')).toEqual([urlOf('2'), urlOf('3')]);
});

test('the more there are, the less often each is asked to say it again', () => {
  const says = (host: number) =>
    neighbors.announce(
      toHostId(`${host}`),
      { root: ROOT, address: `10.0.${host >> 8}.${host & 255}`, port: 1, dropped: [] },
      '',
    ).againSeconds;
  expect(says(0)).toBe(1);
  for (let host = 1; host < 1000; host += 1) says(host);
  expect(says(0)).toBe(10);
});
