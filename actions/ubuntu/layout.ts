import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { swapBytes } from '../disks/swap-size.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** Less than this for the node's own data is not worth a partition. */
const SMALLEST_DATA = GIB;

export interface UbuntuLayoutRequest {
  sizeBytes: number;
  sectorBytes: number;
  partitions: readonly PartitionEntry[];
  rootNumber: number;
  rootGigabytes: number;
  ramBytes: number;
  otherDisks: number;
  lvmGigabytes: number;
  newGuid: () => string;
}

export type UbuntuLayout =
  | { kind: 'done already' }
  /** Nothing is changed; the root grows into the rest of the disk at its first boot. */
  | { kind: 'leave'; reason: string }
  | {
      kind: 'split';
      partitions: PartitionEntry[];
      root: PartitionEntry;
      data: PartitionEntry;
      swap: PartitionEntry;
      lvm?: PartitionEntry;
    };

/**
 * The disk of a mutable node: a root of fixed size, swap, room for the cluster's data, and maybe a volume group
 * (docs/background/emf.md#disk-of-a-mutable-system).
 */
export function planUbuntuLayout(request: UbuntuLayoutRequest): UbuntuLayout {
  const { partitions, rootNumber } = request;
  if (partitions.some(({ partLabel }) => partLabel === 'data_persistent')) return { kind: 'done already' };
  const root = partitions.find(({ number }) => number === rootNumber);
  const begun = root && resume(partitions, root);
  if (begun) return begun;
  if (!root) return { kind: 'leave', reason: `there is no partition ${rootNumber}` };
  if (partitions.some(({ startBytes }) => startBytes > root.startBytes)) {
    return { kind: 'leave', reason: 'the root is not the last partition, so it cannot grow' };
  }
  const lvmBytes = request.otherDisks === 0 && request.lvmGigabytes >= 1 ? request.lvmGigabytes * GIB : 0;
  const rootBytes = Math.max(request.rootGigabytes * GIB, root.sizeBytes);
  const end = toMib(usableRange(request).end);
  const swapStart = end - lvmBytes - toMib(swapBytes(request));
  const dataStart = toMib(root.startBytes + rootBytes + MIB - 1);
  if (swapStart - dataStart < SMALLEST_DATA) {
    return {
      kind: 'leave',
      reason: `the disk is too small for a root of ${request.rootGigabytes} GiB, swap and data`,
    };
  }
  let next = 1;
  const part = (partLabel: string, type: string, startBytes: number, endBytes: number): PartitionEntry => {
    while (partitions.some(({ number }) => number === next)) next++;
    return {
      number: next++,
      partLabel,
      type,
      startBytes,
      sizeBytes: endBytes - startBytes,
      partUuid: request.newGuid(),
    };
  };
  const grown = { ...root, sizeBytes: dataStart - root.startBytes };
  const swap = part('swap', PARTITION_TYPES.swap, swapStart, end - lvmBytes);
  const data = part('data_persistent', PARTITION_TYPES.linux, dataStart, swapStart);
  const lvm = lvmBytes > 0 ? part('lvm', PARTITION_TYPES.lvm, end - lvmBytes, end) : undefined;
  const others = partitions.filter(({ number }) => number !== rootNumber);
  return {
    kind: 'split',
    partitions: [...others, grown, swap, data, ...(lvm ? [lvm] : [])].sort((a, b) => a.number - b.number),
    root: grown,
    data,
    swap,
    ...(lvm ? { lvm } : {}),
  };
}

/** The name of the data partition until everything on the new partitions is in place. */
export const UNFINISHED = 'kindling_new';

/** A run that was killed: the same partitions with the same GUIDs, which may be in fstab already. */
function resume(partitions: readonly PartitionEntry[], root: PartitionEntry): UbuntuLayout | undefined {
  const find = (label: string) => partitions.find(({ partLabel }) => partLabel === label);
  const [unfinished, swap, lvm] = [find(UNFINISHED), find('swap'), find('lvm')];
  if (!unfinished || !swap) return undefined;
  const data = { ...unfinished, partLabel: 'data_persistent' };
  const all = partitions.map((part) => (part === unfinished ? data : part));
  return { kind: 'split', partitions: all, root, data, swap, ...(lvm ? { lvm } : {}) };
}

const toMib = (bytes: number) => Math.floor(bytes / MIB) * MIB;
