import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readPartitionTable } from '../../../agent/system/partition-table.ts';
import { PAYLOAD_TYPE_GUID } from '../../../protocol/stick.ts';
import { encodeGpt } from '../../../standalone/usb/gpt.ts';
import { placeFiles, planLayout } from '../../../standalone/usb/layout.ts';

const MIB = 1024 * 1024;

test('the agent’s reader finds the stick’s table, both copies right', async () => {
  const layout = planLayout({ bootFilesBytes: 43 * MIB, payloadBytes: 100 * MIB }, randomUUID);
  const diskGuid = randomUUID();
  const { head, tail } = encodeGpt(layout.totalBytes, diskGuid, [layout.boot, layout.people, layout.payload]);
  const disk = new Map([
    [0, head],
    [layout.totalBytes - tail.length, tail],
  ]);
  const readAt = async (offset: number, length: number) => {
    for (const [at, bytes] of disk) {
      if (offset >= at && offset < at + bytes.length)
        return bytes.subarray(offset - at, offset - at + length);
    }
    return Buffer.alloc(length);
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
  const { head } = encodeGpt(1024 * MIB, randomUUID(), [boot], Buffer.alloc(440, 0x90));
  expect(head.subarray(0, 440).every((byte) => byte === 0x90)).toBe(true);
  expect(head.readUInt16LE(510)).toBe(0xaa55);
  expect(head.readBigUInt64LE(1024 + 48)).toBe(4n);
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
