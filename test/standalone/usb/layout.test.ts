import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import { PAYLOAD_TYPE_GUID } from '../../../protocol/stick.ts';
import { placeFiles, planLayout, STICK_SECTOR_BYTES } from '../../../standalone/usb/layout.ts';

const MIB = 1024 * 1024;

test('the agent’s reader finds the stick’s table, both copies right', async () => {
  const layout = planLayout({ bootFilesBytes: 43 * MIB, payloadBytes: 100 * MIB }, randomUUID);
  const diskGuid = randomUUID();
  const pieces = encodeGpt({
    diskGuid,
    sectorBytes: STICK_SECTOR_BYTES,
    sizeBytes: layout.totalBytes,
    partitions: [layout.boot, layout.people, layout.payload],
  });
  const readAt = async (from: number, length: number) => {
    const piece = pieces.find(({ offset, bytes }) => from >= offset && from < offset + bytes.length);
    return piece
      ? piece.bytes.subarray(from - piece.offset, from - piece.offset + length)
      : Buffer.alloc(length);
  };
  const table = await readPartitionTable(readAt, layout.totalBytes);
  expect(table).toMatchObject({ kind: 'gpt', id: diskGuid, copies: { primary: true, backup: true } });
  expect(
    table?.partitions.map(({ partLabel, startBytes, sizeBytes }) => ({ partLabel, startBytes, sizeBytes })),
  ).toEqual([
    { partLabel: 'kindling-boot', startBytes: MIB, sizeBytes: 64 * MIB },
    { partLabel: 'KINDLING', startBytes: 65 * MIB, sizeBytes: 64 * MIB },
    { partLabel: 'kindling-payload', startBytes: 129 * MIB, sizeBytes: 100 * MIB },
  ]);
  expect(table?.partitions[2]?.type).toBe(PAYLOAD_TYPE_GUID);
});

test('the boot code is in the MBR, and the boot partition is marked for BIOS', () => {
  const { boot } = planLayout({ bootFilesBytes: 1, payloadBytes: 1 }, randomUUID);
  const pieces = encodeGpt({
    diskGuid: randomUUID(),
    sectorBytes: STICK_SECTOR_BYTES,
    sizeBytes: 1024 * MIB,
    partitions: [boot],
    bootCode: Buffer.alloc(440, 0x90),
  });
  const head = pieces.find(({ offset }) => offset === 0)?.bytes;
  expect(head?.subarray(0, 440).every((byte) => byte === 0x90)).toBe(true);
  expect(head?.readUInt16LE(510)).toBe(0xaa55);
  expect(head?.readBigUInt64LE(1024 + 48)).toBe(4n);
});

test('files follow the manifest, each on a multiple of 1 MiB, none over another', () => {
  const sizes = [0, 1, MIB, MIB + 1, 5 * MIB];
  const { files, payloadBytes } = placeFiles(
    sizes.map((size, index) => ({ name: String(index), size, sha256: '' })),
    3000,
  );
  expect(files.map(({ offset }) => offset / MIB)).toEqual([1, 2, 3, 4, 6]);
  expect(payloadBytes / MIB).toBe(11);
});
