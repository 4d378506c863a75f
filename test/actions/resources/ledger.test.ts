import { expect, it } from 'vitest';
import { leftovers } from '../../../actions/resources/ledger.ts';

const line = (op: string, entry: object) => `${JSON.stringify({ op, entry })}\n`;
const mountA = { kind: 'mount', target: '/a' };
const mountB = { kind: 'mount', target: '/b' };

it('what was taken and not released is left, the last taken first', () => {
  const loop = { kind: 'loop', device: '/dev/loop0' };
  const text = line('take', loop) + line('take', mountA) + line('take', mountB) + line('released', mountA);
  expect(leftovers(text)).toEqual([mountB, loop]);
});

it('a line that was cut off by the kill is ignored', () => {
  expect(leftovers(`${line('take', mountA)}{"op":"rele`)).toEqual([mountA]);
});
