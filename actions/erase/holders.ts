import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import type { Run } from '../../system/run.ts';
import { isOnDisk } from '../disks/partition-paths.ts';
import { removeMapping } from '../resources/remove-mapping.ts';
import { releaseFromBcache, stopBcache } from './bcache.ts';

/** A block device that lives on top of others: a logical volume, an opened LUKS container, a RAID, a bcache. */
export interface Holder {
  name: string;
  kind: 'dm' | 'md' | 'bcache' | 'other';
  /** Devices on top of this one. */
  holders: Holder[];
}

/** Top-down: what is held by nothing comes first, so that each can be taken down when its turn comes. Each once. */
export function teardownOrder(roots: readonly Holder[]): Holder[] {
  const order: Holder[] = [];
  const visit = (holder: Holder) => {
    for (const above of holder.holders) visit(above);
    if (!order.some(({ name }) => name === holder.name)) order.push(holder);
  };
  for (const root of roots) visit(root);
  return order;
}

/** Everything that holds a disk or one of its partitions, from /sys. */
export async function readHolders(diskName: string, sys = '/sys'): Promise<Holder[]> {
  const lists = await Promise.all(
    (await withPartitions(diskName, sys)).map((name) =>
      readdir(path.join(sys, 'class/block', name, 'holders')).catch(() => []),
    ),
  );
  return Promise.all(
    [...new Set(lists.flat())].map(async (name) => ({
      name,
      kind: kindOf(name),
      holders: await readHolders(name, sys),
    })),
  );
}

async function withPartitions(diskName: string, sys = '/sys'): Promise<string[]> {
  const names = await readdir(path.join(sys, 'class/block', diskName)).catch(() => []);
  return [diskName, ...names.filter((name) => name.startsWith(diskName))];
}

function kindOf(name: string): Holder['kind'] {
  if (name.startsWith('dm-')) return 'dm';
  if (name.startsWith('md')) return 'md';
  if (name.startsWith('bcache')) return 'bcache';
  return 'other';
}

/** One teardown at a time: disks are erased side by side, and a RAID lies on several of them. The second one finds it gone. */
let lastTeardown: Promise<unknown> = Promise.resolve();

/** Takes down everything on top of a disk, the top first. Swap on it is turned off; a mounted file system is refused. */
export function tearDownHolders(diskName: string, run: Run, log: (message: string) => void): Promise<void> {
  const teardown = lastTeardown.then(() => tearDown(diskName, run, log));
  lastTeardown = teardown.catch(() => {});
  return teardown;
}

async function tearDown(diskName: string, run: Run, log: (message: string) => void): Promise<void> {
  const order = teardownOrder(await readHolders(diskName));
  await turnOffSwap([diskName, ...order.map(({ name }) => name)], run);
  for (const holder of order) {
    log(`taking down ${holder.name}, which uses ${diskName}`);
    await takeDown(holder, run).catch((cause) => {
      throw new KindlingError('KND_DISK_BUSY', `${holder.name} on top of ${diskName} cannot be taken down`, {
        cause,
      });
    });
  }
  for (const name of await withPartitions(diskName)) await releaseFromBcache(name, log);
}

async function takeDown({ name, kind }: Holder, run: Run): Promise<void> {
  const sysfs = `/sys/block/${name}`;
  switch (kind) {
    case 'dm': {
      const mapping = (await readFile(`${sysfs}/dm/name`, 'utf8')).trim();
      await removeMapping(run, mapping);
      return;
    }
    case 'md':
      await writeFile(`${sysfs}/md/array_state`, 'clear');
      return;
    case 'bcache':
      await stopBcache(name);
      return;
    case 'other':
      throw new KindlingError('KND_DISK_BUSY', `Kindling does not know how to take down ${name}`);
  }
}

async function turnOffSwap(names: readonly string[], run: Run): Promise<void> {
  const swaps = (await readFile('/proc/swaps', 'utf8').catch(() => '')).split('\n').slice(1);
  for (const device of swaps
    .map((line) => line.split(/\s+/)[0] ?? '')
    .filter((entry) => entry.startsWith('/dev/'))) {
    if (names.some((name) => isOnDisk(device, `/dev/${name}`))) await run('swapoff', [device]);
  }
}
