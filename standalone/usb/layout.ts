import { PAYLOAD_ALIGNMENT, PAYLOAD_TYPE_GUID, STICK_LABELS, type StickFile } from '../../protocol/stick.ts';
import { GPT_TAIL_BYTES, type NewPartition } from './gpt.ts';

const MIB = 1024 * 1024;
const ESP_TYPE_GUID = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
const BASIC_DATA_TYPE_GUID = 'ebd0a0a2-b9e5-4433-87c0-68b6b72699c7';
/** Logs and status of many nodes, and a config file, take kilobytes; below 33 MiB FAT32 is not allowed. */
const PEOPLE_BYTES = 64 * MIB;

export interface StickLayout {
  boot: NewPartition;
  people: NewPartition;
  payload: NewPartition;
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
  const partition = (
    name: string,
    typeGuid: string,
    startBytes: number,
    sizeBytes: number,
  ): NewPartition => ({ name, typeGuid, uniqueGuid: newGuid(), startBytes, sizeBytes });
  const boot = {
    ...partition(STICK_LABELS.boot, ESP_TYPE_GUID, MIB, Math.max(bootBytes, 64 * MIB)),
    isLegacyBoot: true,
  };
  const people = partition(STICK_LABELS.people, BASIC_DATA_TYPE_GUID, endOf(boot), PEOPLE_BYTES);
  const payloadBytes = roundUp(sizes.payloadBytes, MIB);
  const payload = partition(STICK_LABELS.payload, PAYLOAD_TYPE_GUID, endOf(people), payloadBytes);
  return { boot, people, payload, totalBytes: roundUp(endOf(payload) + GPT_TAIL_BYTES, MIB) };
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

function endOf({ startBytes, sizeBytes }: NewPartition): number {
  return startBytes + sizeBytes;
}

function roundUp(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit;
}
