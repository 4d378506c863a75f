import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { formatBytes } from '../../system/format-bytes.ts';
import { type DiskIdentity, identityOf, isSameDisk } from './disk-identity.ts';

const MEMORY = '/run/kindling/target-disk.json';

/**
 * Remembers which disk this workflow writes to, so that the actions after the image writer need not choose again (and cannot choose
 * otherwise, once the image has partitions). In RAM only: after a reboot the policy decides anew.
 */
export async function rememberTarget(disk: Disk, memory = MEMORY): Promise<void> {
  await mkdir(path.dirname(memory), { recursive: true });
  await writeFile(`${memory}.new`, JSON.stringify(identityOf(disk)));
  await rename(`${memory}.new`, memory);
}

/** The remembered disk; undefined if none was written to. One that is gone is an error: the policy would pick another disk, with other people's data. */
export async function recallTarget(disks: readonly Disk[], memory = MEMORY): Promise<Disk | undefined> {
  const text = await readFile(memory, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const identity = JSON.parse(text) as DiskIdentity;
  const fitting = disks.filter((disk) => isSameDisk(identity, disk));
  // Cheap disks share a serial number: then the name they had tells them apart.
  const found = fitting.length > 1 ? fitting.find((disk) => disk.path === identity.path) : fitting[0];
  if (found) return found;
  const { path: name, serial, sizeBytes } = identity;
  throw new KindlingError(
    'KND_DISK_NOT_FOUND',
    `the image was written to ${name} (${serial ? `serial ${serial}, ` : ''}${formatBytes(sizeBytes)}), which is not there any more`,
    {
      hint: 'See in the kernel log why the disk went away. If another disk is meant, name it: DEST_DISK, BLOCK_DEVICE (whichever the action has) or KINDLING_DISK.',
      evidence: { remembered: identity, disks: disks.map((disk) => disk.path) },
    },
  );
}
