import { open } from 'node:fs/promises';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import type { PartitionEntry } from '../../../formats/partition-table/table.ts';

const MIB = 1024 * 1024;
const DISK_GUID = '6b696e64-6c69-4e67-b000-000000000001';

/** A raw disk image from file systems in files: the table, and each file at the place of its partition. Zeros stay holes. */
export async function joinPartitions(
  output: string,
  parts: ReadonlyMap<PartitionEntry, string>,
  bootCode: Buffer,
): Promise<void> {
  const partitions = [...parts.keys()];
  const sizeBytes = Math.max(...partitions.map((one) => one.startBytes + one.sizeBytes)) + MIB;
  await using disk = await open(output, 'w');
  await disk.truncate(sizeBytes);
  const table = encodeGpt({ diskGuid: DISK_GUID, sectorBytes: 512, sizeBytes, partitions, bootCode });
  for (const { offset, bytes } of table) await disk.write(bytes, 0, bytes.length, offset);
  for (const [{ startBytes }, file] of parts) {
    await using source = await open(file, 'r');
    const block = Buffer.alloc(MIB);
    for (let at = 0; ; at += MIB) {
      const { bytesRead } = await source.read(block, 0, MIB, at);
      if (bytesRead === 0) break;
      const bytes = block.subarray(0, bytesRead);
      if (bytes.some((byte) => byte !== 0)) await disk.write(bytes, 0, bytesRead, startBytes + at);
    }
  }
}
