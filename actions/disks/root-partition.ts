import { KindlingError } from '../../protocol/error.ts';
import type { Disk, Partition } from '../../protocol/inventory.ts';
import { describeDisk } from './describe-disk.ts';

/** The partition that holds the installed system, found as EMF does: a label or partition label with "rootfs" in it, else the first ext4. */
export function findRootPartition(disk: Disk): Partition {
  const partitions = disk.partitions.toSorted((a, b) => a.number - b.number);
  const labeled = partitions.find((partition) =>
    [partition.partLabel, ...partition.signatures.map(({ label }) => label)].some((label) =>
      label?.includes('rootfs'),
    ),
  );
  const root =
    labeled ?? partitions.find((partition) => partition.signatures.some(({ type }) => type === 'ext4'));
  if (root) return root;
  const seen = partitions.map(
    ({ path, partLabel, signatures }) =>
      `${path} ${partLabel ?? ''} ${signatures.map(({ type }) => type).join('+') || 'unknown'}`,
  );
  throw new KindlingError(
    'KND_ROOT_PARTITION_NONE',
    `${describeDisk(disk)} has no partition labeled rootfs and none with ext4 (${seen.join('; ') || 'no partitions at all'})`,
  );
}
