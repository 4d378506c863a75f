import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { holdBack } from '../../../agent/standalone/hold-back.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-hold-back-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([512, 4096])(
  'a disk of %i-byte sectors loses its first one and gets it back; its partitions are seen all the time',
  async (sectorBytes) => {
    const sizeBytes = 1024 * 1024;
    const path = join(folder, `disk-${sectorBytes}`);
    const contents = Buffer.alloc(sizeBytes);
    const partitions = [
      {
        number: 1,
        startBytes: 65536,
        sizeBytes: 65536,
        type: '0fc63daf-8483-4772-8e79-3d69d8477de4',
        partUuid: '0f0e0d0c-0b0a-4908-8706-050403020101',
      },
    ];
    const diskGuid = '0f0e0d0c-0b0a-4908-8706-050403020100';
    const bootCode = Buffer.alloc(440, 0x90);
    for (const { offset, bytes } of encodeGpt({ diskGuid, sectorBytes, sizeBytes, partitions, bootCode }))
      bytes.copy(contents, offset);
    writeFileSync(path, contents);
    const tableNow = () => {
      const now = readFileSync(path);
      return readPartitionTable(
        async (offset, length) => now.subarray(offset, offset + length),
        sizeBytes,
        sectorBytes,
      );
    };

    const held = await holdBack(path, sectorBytes);
    expect(
      readFileSync(path)
        .subarray(0, sectorBytes)
        .every((byte) => byte === 0),
    ).toBe(true);
    expect((await tableNow())?.partitions).toHaveLength(1);
    await held.release();
    expect(readFileSync(path).equals(contents)).toBe(true);
  },
);
