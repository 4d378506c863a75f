import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';
import { swapBytes } from '../disks/swap-size.ts';
import { LUKS_HEADER_BYTES } from '../encryption/luks.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Up to here the reference takes its smaller scheme. */
const SMALL_DISK = 112_640 * MIB;
const SMALLEST_DISK = 32 * GIB;

export interface LayoutRequest {
  sizeBytes: number;
  sectorBytes: number;
  /** What the image brought: 1 esp, 2 rootfs, 3 edge_persistent. */
  partitions: readonly PartitionEntry[];
  ramBytes: number;
  /** Other disks that can take data. */
  otherDisks: number;
  lvmGigabytes: number;
  /** The layout with full disk encryption: room for headers, a partition for trusted compute, no small scheme. */
  isEncrypted?: boolean;
  newGuid: () => string;
}

/**
 * The disk of an immutable Edge Microvisor system with two slots (docs/background/emf.md#disk-layouts,
 * docs/background/k3s.md#disk-after-the-installation). Its boot module knows the numbers.
 */
export interface MicrovisorLayout {
  partitions: PartitionEntry[];
  /** Where the state partition was and where it goes; it is copied through `reserved`. */
  oldPersistent: PartitionEntry;
  persistent: PartitionEntry;
  reserved: PartitionEntry;
}

export function planMicrovisorLayout(request: LayoutRequest): MicrovisorLayout {
  const [esp, root, oldPersistent] = [1, 2, 3].map((number) =>
    request.partitions.find((part) => part.number === number),
  );
  if (!esp || !root || !oldPersistent || oldPersistent.startBytes < root.startBytes) {
    throw new KindlingError(
      'KND_NOT_MICROVISOR',
      'the disk does not have the partitions of an Edge Microvisor image (1 esp, 2 rootfs, 3 edge_persistent)',
    );
  }
  if (request.sizeBytes < SMALLEST_DISK) {
    throw new KindlingError(
      'KND_DISK_TOO_SMALL',
      `the disk has ${Math.floor(request.sizeBytes / GIB)} GiB, two slots need 32`,
    );
  }
  const isEncrypted = request.isEncrypted ?? false;
  const isSmall = request.sizeBytes <= SMALL_DISK && !isEncrypted;
  // A header goes before the data.
  const headerBytes = isEncrypted ? LUKS_HEADER_BYTES : 0;
  const rootBytes = Math.max(4096 * MIB, toMib(root.sizeBytes + headerBytes + MIB - 1));
  const lvmBytes = request.otherDisks === 0 && request.lvmGigabytes >= 1 ? request.lvmGigabytes * GIB : 0;
  const tail = [
    { partLabel: 'hashmap_a', sizeBytes: 100 * MIB, type: PARTITION_TYPES.linux },
    { partLabel: 'hashmap_b', sizeBytes: 100 * MIB, type: PARTITION_TYPES.linux },
    { partLabel: 'rootfs_b', sizeBytes: rootBytes, type: root.type },
    { partLabel: 'roothash', sizeBytes: 50 * MIB, type: PARTITION_TYPES.linux },
    {
      partLabel: 'swap',
      sizeBytes: isSmall ? 4096 * MIB : toMib(swapBytes(request)),
      type: PARTITION_TYPES.swap,
    },
    ...(isEncrypted ? [{ partLabel: 'tep', sizeBytes: 14_336 * MIB, type: PARTITION_TYPES.linux }] : []),
    { partLabel: 'reserved', sizeBytes: isSmall ? 3072 * MIB : 5120 * MIB, type: PARTITION_TYPES.linux },
    ...(lvmBytes > 0 ? [{ partLabel: 'lvm', sizeBytes: lvmBytes, type: PARTITION_TYPES.lvm }] : []),
  ].map((part, index) => ({ number: index + 4, ...part }));

  // From the end of the disk, so that the state partition gets whatever is left in the middle.
  let end = toMib(usableRange(request).end);
  const placed: PartitionEntry[] = [];
  for (const part of tail.toReversed()) {
    end -= part.sizeBytes;
    placed.unshift({ ...part, startBytes: end, partUuid: request.newGuid() });
  }
  const persistentStart = toMib(root.startBytes + rootBytes + MIB - 1);
  const persistent = { ...oldPersistent, startBytes: persistentStart, sizeBytes: end - persistentStart };
  if (persistent.sizeBytes < oldPersistent.sizeBytes + headerBytes) {
    throw new KindlingError(
      'KND_DISK_TOO_SMALL',
      'no room is left for the state partition beside two slots and LVM_SIZE',
    );
  }
  const reserved = placed.find(({ partLabel }) => partLabel === 'reserved');
  // With encryption the root goes through it too.
  const largest = Math.max(oldPersistent.sizeBytes, isEncrypted ? root.sizeBytes : 0);
  if (!reserved || reserved.sizeBytes < largest + MIB) {
    throw new KindlingError(
      'KND_DISK_TOO_SMALL',
      'the partitions of the image do not fit the reserved one, through which they are moved',
    );
  }
  return {
    partitions: [esp, { ...root, sizeBytes: rootBytes }, persistent, ...placed],
    oldPersistent,
    persistent,
    reserved,
  };
}

const toMib = (bytes: number) => Math.floor(bytes / MIB) * MIB;
