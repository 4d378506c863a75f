import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readHolders, teardownOrder } from '../../../actions/erase/holders.ts';

it('a logical volume on LUKS on a RAID of two partitions is taken down from the top, each once', async () => {
  const sys = await mkdtemp(path.join(tmpdir(), 'kindling-sys-'));
  const hold = async (below: string, above: string) => {
    const directory = path.join(sys, 'class/block', below, 'holders');
    await mkdir(directory, { recursive: true });
    await writeFile(path.join(directory, above), '');
  };
  await mkdir(path.join(sys, 'class/block/sda/sda1'), { recursive: true });
  await mkdir(path.join(sys, 'class/block/sda/sda2'), { recursive: true });
  await hold('sda1', 'md0');
  await hold('sda2', 'md0');
  await hold('md0', 'dm-0');
  await hold('dm-0', 'dm-1');
  await hold('dm-0', 'dm-2');
  const order = teardownOrder(await readHolders('sda', sys));
  expect(order.map(({ name, kind }) => `${kind} ${name}`)).toEqual([
    'dm dm-1',
    'dm dm-2',
    'dm dm-0',
    'md md0',
  ]);
  await rm(sys, { recursive: true });
});
