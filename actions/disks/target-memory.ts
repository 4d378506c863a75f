import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Disk } from '../../protocol/inventory.ts';
import { type DiskIdentity, identityOf, isSameDisk } from './disk-identity.ts';

const MEMORY = '/run/kindling/target-disk.json';

/**
 * Remembers which disk this workflow writes to, so that the actions after the image writer need not choose again (and cannot choose
 * otherwise, once the image has partitions). In RAM only: after a reboot the policy decides anew.
 */
export async function rememberTarget(disk: Disk, memory = MEMORY): Promise<void> {
  await mkdir(path.dirname(memory), { recursive: true });
  await writeFile(memory, JSON.stringify(identityOf(disk)));
}

/** The remembered disk, if it is still there. */
export async function recallTarget(disks: readonly Disk[], memory = MEMORY): Promise<Disk | undefined> {
  const text = await readFile(memory, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const identity = JSON.parse(text) as DiskIdentity;
  return disks.find((disk) => isSameDisk(identity, disk));
}
