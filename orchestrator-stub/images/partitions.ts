import type { FileHandle } from 'node:fs/promises';

/** Where partitions begin in an image: by GPT, else by MBR; an image without a table is one partition. */
export async function readPartitionTable(image: FileHandle, size: number): Promise<number[]> {
  const head = Buffer.alloc(Math.min(size, 1024 * 1024));
  await image.read(head, 0, head.length, 0);
  for (const sectorSize of [512, 4096]) {
    const starts = gptStarts(head, sectorSize);
    if (starts) return starts;
  }
  if (head.length < 512 || head.readUInt16LE(510) !== 0xaa55) return [0];
  return [0, 1, 2, 3]
    .filter((i) => head[446 + i * 16 + 4] !== 0)
    .map((i) => head.readUInt32LE(446 + i * 16 + 8) * 512);
}

function gptStarts(head: Buffer, sectorSize: number): number[] | undefined {
  if (head.toString('latin1', sectorSize, sectorSize + 8) !== 'EFI PART') return undefined;
  const entriesAt = Number(head.readBigUInt64LE(sectorSize + 72)) * sectorSize;
  const count = head.readUInt32LE(sectorSize + 80);
  const entryBytes = head.readUInt32LE(sectorSize + 84);
  if (entriesAt + count * entryBytes > head.length) return undefined;
  return Array.from({ length: count }, (_, i) => entriesAt + i * entryBytes)
    .filter((at) => head.subarray(at, at + 16).some((byte) => byte !== 0))
    .map((at) => Number(head.readBigUInt64LE(at + 32)) * sectorSize);
}
