import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';
import { swapBytes } from '../disks/swap-size.ts';
import { LUKS_HEADER_BYTES } from '../encryption/luks.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const ROOT_NUMBER = 1;
const ROOT_BYTES = 50 * GIB;
const BOOT_BYTES = 5 * GIB;
const TRUSTED_COMPUTE_BYTES = 14 * GIB;
/** A single disk above this gives less to "reserved". */
const LARGE_DISK = 100 * GIB;
/** Less than this for the node's own data is not worth a partition. */
const SMALLEST_DATA = GIB;

export interface EncryptedUbuntuRequest {
  sizeBytes: number;
  sectorBytes: number;
  partitions: readonly PartitionEntry[];
  /** The image has /boot on a partition of its own, as Ubuntu 24.04 does; 22.04 gets one. */
  hasBoot: boolean;
  ramBytes: number;
  otherDisks: number;
  lvmGigabytes: number;
  minimumRootGigabytes: number;
  newGuid: () => string;
}

/**
 * The disk of an encrypted mutable system (docs/background/emf.md#disk-layouts). Only the EFI system partition
 * and /boot stay readable.
 */
export interface EncryptedUbuntuLayout {
  partitions: PartitionEntry[];
  root: PartitionEntry;
  /** Made by us; it takes over what the image has in /boot. */
  boot?: PartitionEntry;
  swap: PartitionEntry;
  /** The root travels through it. */
  reserved: PartitionEntry;
  persistent: PartitionEntry;
  lvm?: PartitionEntry;
}

export function planEncryptedUbuntu(request: EncryptedUbuntuRequest): EncryptedUbuntuLayout {
  const { partitions, otherDisks, hasBoot } = request;
  const root = partitions.find(({ number }) => number === ROOT_NUMBER);
  if (!root || partitions.some(({ startBytes }) => startBytes > root.startBytes)) {
    throw new KindlingError(
      'KND_PARTITION_LAYOUT',
      'the root is not the last partition of the image, so nothing can be put behind it',
    );
  }
  const isSingleLarge = otherDisks === 0 && request.sizeBytes > LARGE_DISK;
  // EMF's size, unless the root would not fit: it fails there.
  const reservedBytes = Math.max((isSingleLarge ? 3 : 5) * GIB, upToMib(root.sizeBytes) + 2 * MIB);
  const lvmBytes = otherDisks === 0 && request.lvmGigabytes >= 1 ? request.lvmGigabytes * GIB : 0;
  const wanted = [
    ...(hasBoot ? [] : [{ partLabel: 'boot', type: PARTITION_TYPES.linux, sizeBytes: BOOT_BYTES }]),
    { partLabel: 'swap', type: PARTITION_TYPES.swap, sizeBytes: downToMib(swapBytes(request)) },
    {
      partLabel: hasBoot ? 'tep' : 'trusted_compute',
      type: PARTITION_TYPES.linux,
      sizeBytes: TRUSTED_COMPUTE_BYTES,
    },
    { partLabel: 'reserved', type: PARTITION_TYPES.linux, sizeBytes: reservedBytes },
    { partLabel: 'persistent', type: PARTITION_TYPES.linux, sizeBytes: 0 },
    ...(lvmBytes > 0 ? [{ partLabel: 'lvm', type: PARTITION_TYPES.lvm, sizeBytes: lvmBytes }] : []),
  ].map((part, index) => ({ ...part, number: index + 2 }));
  const taken = wanted.find(({ number }) => partitions.some((part) => part.number === number));
  if (taken) {
    throw new KindlingError(
      'KND_PARTITION_LAYOUT',
      `the image has a partition ${taken.number} already, which is to be “${taken.partLabel}”`,
    );
  }

  const end = downToMib(usableRange(request).end);
  const fixed = wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const free = end - upToMib(root.startBytes) - fixed - SMALLEST_DATA;
  const smallest = Math.max(request.minimumRootGigabytes * GIB, upToMib(root.sizeBytes + LUKS_HEADER_BYTES));
  if (free < smallest) {
    const needed = Math.ceil((smallest + request.sizeBytes - free) / GIB);
    throw new KindlingError(
      'KND_DISK_TOO_SMALL',
      `the disk has ${Math.floor(request.sizeBytes / GIB)} GiB; encryption of a mutable system needs ${needed} for a root of ${Math.ceil(smallest / GIB)}`,
    );
  }
  const rootBytes = Math.max(smallest, Math.min(ROOT_BYTES, downToMib(free)));
  // Behind the root the data, which gets what is left; the rest from the end of the disk, as their numbers go.
  let at = upToMib(root.startBytes + rootBytes);
  const dataBytes = end - at - fixed;
  const placed: PartitionEntry[] = [];
  const inOrder = [
    ...wanted.filter(({ partLabel }) => partLabel === 'persistent'),
    ...wanted.filter(({ partLabel }) => partLabel !== 'persistent'),
  ];
  for (const part of inOrder) {
    const sizeBytes = part.partLabel === 'persistent' ? dataBytes : part.sizeBytes;
    placed.push({ ...part, startBytes: at, sizeBytes, partUuid: request.newGuid() });
    at += sizeBytes;
  }
  const others = partitions.filter(({ number }) => number !== ROOT_NUMBER);
  const grown = {
    ...root,
    partLabel: 'rootfs',
    sizeBytes: upToMib(root.startBytes + rootBytes) - root.startBytes,
  };
  return layoutOf([grown, ...placed, ...others].toSorted((a, b) => a.number - b.number));
}

/** The layout of a disk that an earlier run has changed; undefined for one that is as the image left it. */
export function begunLayout(partitions: readonly PartitionEntry[]): EncryptedUbuntuLayout | undefined {
  const labels = new Set(partitions.map(({ partLabel }) => partLabel));
  const isBegun = labels.has('reserved') && (labels.has('tep') || labels.has('trusted_compute'));
  return isBegun ? layoutOf([...partitions]) : undefined;
}

function layoutOf(partitions: PartitionEntry[]): EncryptedUbuntuLayout {
  const find = (label: string) => partitions.find(({ partLabel }) => partLabel === label);
  const [boot, lvm] = [find('boot'), find('lvm')];
  const needed = (label: string) => {
    const found = find(label);
    if (found) return found;
    throw new KindlingError(
      'KND_PARTITION_LAYOUT',
      `the encrypted layout lacks “${label}”; write the image again`,
    );
  };
  return {
    partitions,
    root: needed('rootfs'),
    swap: needed('swap'),
    reserved: needed('reserved'),
    persistent: needed('persistent'),
    ...(boot?.number === 2 ? { boot } : {}),
    ...(lvm ? { lvm } : {}),
  };
}

const downToMib = (bytes: number) => Math.floor(bytes / MIB) * MIB;
const upToMib = (bytes: number) => Math.ceil(bytes / MIB) * MIB;
