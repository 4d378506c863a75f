import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import { LEGACY_BIOS_BOOTABLE } from '../../formats/partition-table/gpt-fields.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { PAYLOAD_ALIGNMENT, PAYLOAD_TYPE_GUID, STICK_LABELS, type StickFile } from '../../protocol/stick.ts';

const MIB = 1024 * 1024;
const BASIC_DATA_TYPE_GUID = 'ebd0a0a2-b9e5-4433-87c0-68b6b72699c7';
/** Logs and status of many nodes, and a config file, take kilobytes; below 33 MiB FAT32 is not allowed. */
const PEOPLE_BYTES = 64 * MIB;

/** Sticks of 4096-byte sectors are not made. */
export const STICK_SECTOR_BYTES = 512;

export interface StickLayout {
  boot: PartitionEntry;
  people: PartitionEntry;
  payload: PartitionEntry;
  /** Size that the medium must have at least. */
  totalBytes: number;
}

/** 1 MiB for the table, the boot partition, the one for people, the payload, the second table. */
export function planLayout(
  sizes: { bootFilesBytes: number; payloadBytes: number },
  newGuid: () => string,
): StickLayout {
  // FAT needs room for its tables, and syslinux for itself.
  const bootBytes = roundUp(sizes.bootFilesBytes * 1.05 + 8 * MIB, MIB);
  const boot: PartitionEntry = {
    number: 1,
    partLabel: STICK_LABELS.boot,
    type: PARTITION_TYPES.esp,
    partUuid: newGuid(),
    startBytes: MIB,
    sizeBytes: Math.max(bootBytes, 64 * MIB),
    attributes: LEGACY_BIOS_BOOTABLE,
  };
  const people: PartitionEntry = {
    number: 2,
    partLabel: STICK_LABELS.people,
    type: BASIC_DATA_TYPE_GUID,
    partUuid: newGuid(),
    startBytes: endOf(boot),
    sizeBytes: PEOPLE_BYTES,
  };
  const payload: PartitionEntry = {
    number: 3,
    partLabel: STICK_LABELS.payload,
    type: PAYLOAD_TYPE_GUID,
    partUuid: newGuid(),
    startBytes: endOf(people),
    sizeBytes: roundUp(sizes.payloadBytes, MIB),
  };
  return { boot, people, payload, totalBytes: roundUp(endOf(payload) + tableTailBytes(endOf(payload)), MIB) };
}

/** Gives each file its place behind a manifest of about this size. */
export function placeFiles(
  files: readonly Omit<StickFile, 'offset'>[],
  manifestBytes: number,
): { files: StickFile[]; payloadBytes: number } {
  let offset = roundUp(manifestBytes, PAYLOAD_ALIGNMENT);
  const placed = files.map((file) => {
    const at = offset;
    offset = roundUp(offset + Math.max(file.size, 1), PAYLOAD_ALIGNMENT);
    return { ...file, offset: at };
  });
  return { files: placed, payloadBytes: offset };
}

function endOf({ startBytes, sizeBytes }: PartitionEntry): number {
  return startBytes + sizeBytes;
}

/** Room for the second copy of the table behind `bytes` of partitions. */
function tableTailBytes(bytes: number): number {
  return bytes - usableRange({ sectorBytes: STICK_SECTOR_BYTES, sizeBytes: bytes }).end;
}

function roundUp(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit;
}
