import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { leftovers, releaseLeftovers } from '../../../actions/resources/ledger.ts';

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

it('the directory of a mount goes, also where the kill came before the mount', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'kindling-ledger-'));
  const target = path.join(folder, 'mount');
  await mkdir(target);
  const ledger = path.join(folder, 'ledger');
  await writeFile(ledger, line('take', { kind: 'mount', target, removeTarget: true }));
  await releaseLeftovers(ledger, () => Promise.reject(new Error('not mounted')));
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
});
