import { randomUUID } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { readTable } from '../disks/installed-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { placeFile } from '../target-root/place-file.ts';
import { type MicrovisorLayout, planMicrovisorLayout } from './layout.ts';

export interface PlannedSlots {
  layout: MicrovisorLayout;
  diskGuid: string;
  /** The disk has this layout already: a run after a kill, or after the root was changed once more. */
  isMoved: boolean;
}

/** What the disk is to become, whether it is still as the image left it or was changed by an earlier run. */
export async function planSlots(
  disk: Disk,
  request: { otherDisks: number; lvmGigabytes: number; isEncrypted: boolean },
): Promise<PlannedSlots> {
  const table = await readTable(disk);
  if (table?.kind !== 'gpt' || !table.id)
    throw new KindlingError('KND_NOT_MICROVISOR', `${disk.path} has no GUID partition table`);
  const isMoved = table.partitions.some(({ partLabel }) => partLabel === 'hashmap_a');
  const layout = isMoved
    ? movedLayout(table.partitions, request.isEncrypted)
    : planMicrovisorLayout({
        ...request,
        sizeBytes: disk.sizeBytes,
        sectorBytes: disk.logicalSectorBytes,
        partitions: table.partitions,
        ramBytes: totalmem(),
        newGuid: randomUUID,
      });
  return { layout, diskGuid: table.id, isMoved };
}

function movedLayout(partitions: PartitionEntry[], isEncrypted: boolean): MicrovisorLayout {
  const find = (label: string) => partitions.find(({ partLabel }) => partLabel === label);
  const persistent = partitions.find(({ number }) => number === 3);
  const reserved = find('reserved');
  if (!persistent || !reserved) {
    throw new KindlingError(
      'KND_NOT_MICROVISOR',
      'the layout with two slots lacks partition 3 or “reserved”',
    );
  }
  if ((find('tep') !== undefined) !== isEncrypted) {
    throw new KindlingError(
      'KND_NOT_MICROVISOR',
      `the disk already has two slots ${isEncrypted ? 'without' : 'with'} encryption; write the image again`,
    );
  }
  return { partitions, oldPersistent: persistent, persistent, reserved };
}

export function partitionOf({ partitions }: MicrovisorLayout, number: number): PartitionEntry {
  const found = partitions.find((part) => part.number === number);
  if (!found) throw new KindlingError('KND_NOT_MICROVISOR', `partition ${number} is missing`);
  return found;
}

/** "4 hashmap_a 100 MiB", for the log and the result. */
export function describeLayout({ partitions }: MicrovisorLayout): string[] {
  return partitions.map(
    ({ number, partLabel, sizeBytes }) => `${number} ${partLabel} ${Math.round(sizeBytes / 2 ** 20)} MiB`,
  );
}

/** Makes swap, and its line in the fstab of the mounted-for-this root, once. */
export async function makeSwap(
  context: ActionContext,
  root: string,
  swap: { device: string; source: string },
): Promise<void> {
  await context.run('mkswap', ['-L', 'swap', swap.device]);
  const mounted = await mountFilesystem(context, root, { fsType: 'ext4' });
  const fstab = await pathInRoot(mounted.target, '/etc/fstab');
  const text = await readFile(fstab, 'utf8').catch(() => '');
  if (!text.includes(swap.source)) await appendFile(fstab, `${swap.source} none swap defaults 0 0\n`);
  await mounted.unmount();
}

/** The root hash, where the boot module of the image reads it. */
export async function keepRootHash(context: ActionContext, device: string, rootHash: string): Promise<void> {
  await context.run('mke2fs', ['-q', '-F', '-t', 'ext4', '-L', 'roothash', device]);
  const hashes = await mountFilesystem(context, device, { fsType: 'ext4' });
  await placeFile(hashes.target, { path: '/part_a_roothash', contents: rootHash });
  await hashes.unmount();
}
