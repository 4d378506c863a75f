import { stat } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { findDisk } from '../disks/choose-target.ts';
import { findTargetDisk } from '../disks/find-target-disk.ts';
import { partitionPath, splitPartitionPath } from '../disks/partition-paths.ts';
import { findRootPartition } from '../disks/root-partition.ts';
import { openWithTpm } from '../encryption/open-with-tpm.ts';

/** The file system an action works in: where it is and on which disk. */
export interface TargetFilesystem {
  /** /dev/nvme0n1p2 */
  device: string;
  /** The disk it is on, if the inventory knows it. */
  disk?: Disk;
  /** "p2" or "2": the device's name after the disk's. Empty if the file system has no partition. */
  suffix: string;
  fsType?: string;
}

/**
 * The partition a variable names (or the root partition of the disk it names), else the root partition of the disk that the image was written to,
 * else of the disk the policy picks. One that fde_dmv has encrypted is opened, for as long as the action takes.
 */
export async function findTargetFilesystem(
  context: Pick<ActionContext, 'machine' | 'run' | 'resources'>,
  device: string | undefined,
  selector?: string | undefined,
): Promise<TargetFilesystem> {
  const found = await findFilesystem(context, device, selector);
  if (found.fsType !== 'crypto_LUKS') return found;
  return { ...found, device: await openWithTpm(context, found.device), fsType: 'ext4' };
}

async function findFilesystem(
  context: Pick<ActionContext, 'machine'>,
  device: string | undefined,
  selector: string | undefined,
): Promise<TargetFilesystem> {
  if (device !== undefined) {
    const named = await namedDevice(await context.machine.listDisks(), device);
    // a whole disk with partitions has no file system of its own: what is installed on it is meant
    return named.suffix === '' && named.disk?.partitions.length ? rootOf(named.disk) : named;
  }
  return rootOf((await findTargetDisk(context, { selector })).disk);
}

function rootOf(disk: Disk): TargetFilesystem {
  const root = findRootPartition(disk);
  return {
    device: root.path,
    disk,
    suffix: root.path.slice(disk.path.length),
    ...(root.signatures[0] ? { fsType: root.signatures[0].type } : {}),
  };
}

/** A disk or partition that is named, by the kernel's name or by a link that udev would make. */
export async function namedDevice(disks: readonly Disk[], device: string): Promise<TargetFilesystem> {
  const parts = splitPartitionPath(device);
  const disk = findDisk(disks, parts?.disk ?? device);
  // A link below /dev/disk need not exist in the Micro-OS, where no udev makes it: take the kernel's own name.
  const path = disk ? (parts ? partitionPath(disk.path, parts.number) : disk.path) : device;
  const isBlockDevice = await stat(path).then(
    (stats) => stats.isBlockDevice(),
    () => false,
  );
  if (!isBlockDevice) {
    throw new KindlingError('KND_DISK_NOT_FOUND', `${device} is not a block device of this machine`, {
      evidence: { device, disks: disks.map((each) => each.path) },
    });
  }
  const partition = disk?.partitions.find(({ number }) => number === parts?.number);
  const signature = parts ? partition?.signatures[0] : disk?.signatures[0];
  return {
    device: path,
    suffix: disk ? path.slice(disk.path.length) : '',
    ...(disk ? { disk } : {}),
    ...(signature ? { fsType: signature.type } : {}),
  };
}
