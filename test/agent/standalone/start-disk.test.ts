import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { syslinuxName } from '../../../agent/standalone/start-disk.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-start-disk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const SIZE = 1024 * 1024;

function disk(contents: Buffer) {
  const path = join(folder, `disk-${Math.random()}`);
  writeFileSync(path, contents);
  return { path, sizeBytes: SIZE, logicalSectorBytes: 512 };
}

test('a disk is named by what its own table says, not by its place', async () => {
  const gpt = Buffer.alloc(SIZE);
  const diskGuid = '0f0e0d0c-0b0a-4908-8706-050403020100';
  for (const { offset, bytes } of encodeGpt({ diskGuid, sectorBytes: 512, sizeBytes: SIZE, partitions: [] }))
    bytes.copy(gpt, offset);
  expect(await syslinuxName(disk(gpt))).toBe(`guid=${diskGuid}`);

  const mbr = Buffer.alloc(SIZE);
  mbr.writeUInt32LE(0x1234abcd, 440);
  mbr.set([0x80, 0, 0, 0, 0x83, 0, 0, 0, 1, 0, 0, 0, 100, 0, 0, 0], 446);
  mbr.set([0x55, 0xaa], 510);
  expect(await syslinuxName(disk(mbr))).toBe('mbr=0x1234abcd');
});

test('a disk without a table cannot be named', async () => {
  await expect(syslinuxName(disk(Buffer.alloc(SIZE)))).rejects.toMatchObject({ code: 'KND_DISK_UNUSABLE' });
});
