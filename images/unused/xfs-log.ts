import type { PartitionReader } from './file-system.ts';

/** XFS log record header (XFS Algorithms & Data Structures, chapter 11); blocks of the log have 512 bytes whatever the sector is. */
const BLOCK = 512;
const HEADER = { cycle: 4, version: 8, length: 12, operations: 40, uuid: 304, size: 320 } as const;
const HEADER_MAGIC = 0xfeedbabe;
/** A record of more than this has one header block for each. */
const CYCLE_DATA_BYTES = 32_768;
const OPERATION_FLAGS = 9;
const UNMOUNT = 0x20;
const READ_BYTES = 4 * 1024 * 1024;

/**
 * Whether the last thing in the log is the record of an unmount. Each block starts with the number of the round it was written in: this
 * round up to the head, the one before after it. Any other picture is a log that needs replaying.
 */
export async function isXfsLogClean(
  partition: PartitionReader,
  start: number,
  length: number,
  uuid: Buffer,
): Promise<boolean> {
  const count = Math.floor(length / BLOCK);
  let round: number | undefined;
  let head: number | undefined;
  let record: number | undefined;
  for (let from = 0; from < count * BLOCK; from += READ_BYTES) {
    const bytes = await partition.read(start + from, Math.min(READ_BYTES, count * BLOCK - from));
    for (let at = 0; at < bytes.length; at += BLOCK) {
      const block = (from + at) / BLOCK;
      const first = bytes.readUInt32BE(at);
      const isHeader = first === HEADER_MAGIC;
      const cycle = isHeader ? bytes.readUInt32BE(at + HEADER.cycle) : first;
      round ??= cycle;
      if (cycle === round && head === undefined) {
        if (isHeader) record = block;
      } else if (cycle === round - 1) {
        head ??= block;
      } else return false;
    }
  }
  if (record === undefined) return false;
  return isUnmount(partition, start, record, head ?? count, uuid);
}

async function isUnmount(
  partition: PartitionReader,
  start: number,
  record: number,
  head: number,
  uuid: Buffer,
): Promise<boolean> {
  const header = await partition.read(start + record * BLOCK, BLOCK);
  const version = header.readUInt32BE(HEADER.version);
  const isOurs =
    version === 2 &&
    header.readUInt32BE(HEADER.operations) === 1 &&
    header.subarray(HEADER.uuid, HEADER.uuid + 16).equals(uuid);
  const headerBlocks = Math.max(1, Math.ceil(header.readUInt32BE(HEADER.size) / CYCLE_DATA_BYTES));
  const dataBlocks = Math.ceil(header.readUInt32BE(HEADER.length) / BLOCK);
  if (!isOurs || record + headerBlocks + dataBlocks !== head) return false;
  const operation = await partition.read(start + (record + headerBlocks) * BLOCK, BLOCK);
  return (operation.readUInt8(OPERATION_FLAGS) & UNMOUNT) !== 0;
}
