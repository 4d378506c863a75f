import { expect, test } from 'vitest';
import { Ring } from '../../../agent/report/ring.ts';
import { Shipper } from '../../../agent/report/ship.ts';

test('large lines go in several requests that a server takes, in order and each once', async () => {
  const ring = new Ring();
  for (let index = 0; index < 5; index++) ring.push('x'.repeat(400_000));
  ring.push('y'.repeat(1_500_000)); // more than a request should hold, and yet it must go
  const sent: number[][] = [];
  await new Shipper(ring, async (entries) => {
    sent.push(entries.map(({ sequence }) => sequence));
  }).flush();
  expect(sent).toEqual([[1, 2], [3, 4], [5], [6]]);
});

test('small lines go together', async () => {
  const ring = new Ring();
  for (let index = 0; index < 600; index++) ring.push(`line ${index}`);
  const sizes: number[] = [];
  await new Shipper(ring, async (entries) => {
    sizes.push(entries.length);
  }).flush();
  expect(sizes).toEqual([500, 100]);
});
