import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { readPartitionTable } from '../../formats/partition-table/read.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { BIOS_DISK_ENTRY } from '../../protocol/stick.ts';
import type { Run } from '../../system/run.ts';
import { setBootOnce } from './boot-once.ts';
import { readAt } from './medium.ts';
import { withStickMounted } from './mount-stick.ts';

/**
 * A BIOS that starts the stick first goes on to this disk, once: the stick's own loader is told to, by the disk's identity,
 * because the BIOS numbers its disks anew at every start. The start after that comes to us again.
 */
export async function startDiskNext(
  disk: Pick<Disk, 'path' | 'sizeBytes' | 'logicalSectorBytes'>,
  stickBootPartition: string | undefined,
  run: Run,
): Promise<void> {
  if (stickBootPartition === undefined) {
    throw new KindlingError('KND_STICK_INVALID', 'the stick has no boot partition');
  }
  const command = `${BIOS_DISK_ENTRY} ${await syslinuxName(disk)}`;
  await withStickMounted(stickBootPartition, run, (folder) =>
    setBootOnce(join(folder, 'ldlinux.sys'), command),
  );
}

/** As syslinux' chain.c32 takes it. */
export async function syslinuxName({
  path,
  sizeBytes,
  logicalSectorBytes,
}: Pick<Disk, 'path' | 'sizeBytes' | 'logicalSectorBytes'>): Promise<string> {
  await using handle = await open(path, 'r');
  const read = (offset: number, length: number) => readAt(handle, offset, length);
  const table = await readPartitionTable(read, sizeBytes, logicalSectorBytes);
  if (table?.id === undefined) {
    throw new KindlingError('KND_DISK_UNUSABLE', `${path} has no partition table that tells it from others`);
  }
  return table.kind === 'gpt' ? `guid=${table.id}` : `mbr=0x${table.id}`;
}
