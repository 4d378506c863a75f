import { describe, expect, test } from 'vitest';
import { moveBackupGpt, readGptPlace, restoreGpt } from '../../../formats/partition-table/gpt-backup.ts';
import { readGpt } from '../../../formats/partition-table/gpt-read.ts';
import { readImageTable } from '../../../formats/partition-table/image-table.ts';
import { makeDiskImage } from '../../actions/image-writer/test-image.ts';

const MIB = 1024 * 1024;

describe.each([512, 4096])('a table for %i-byte sectors', (sectorSize) => {
  const image = makeDiskImage(8 * MIB, 1, sectorSize);
  const head = image.subarray(0, MIB);

  test('says what disk it needs', () => {
    expect(readImageTable(head, 512)).toEqual({ kind: 'gpt', sectorSize, neededBytes: 8 * MIB });
  });

  test('moves to the end of a larger disk, and both copies are right', async () => {
    const size = 20 * MIB;
    const moved = moveBackupGpt(head, size, sectorSize);
    const disk = Buffer.alloc(size);
    image.copy(disk);
    moved?.head.copy(disk);
    moved?.backup.bytes.copy(disk, moved.backup.position);
    const readAt = async (position: number, length: number) => disk.subarray(position, position + length);
    const table = await readGpt(readAt, size, sectorSize);
    expect(table).toMatchObject({
      copies: { primary: true, backup: true },
      partitions: [{ partLabel: 'rootfs' }],
    });
  });

  test('comes back bit for bit when the move is undone', () => {
    const moved = moveBackupGpt(head, 20 * MIB, sectorSize);
    const place = readGptPlace(head);
    expect(moved && place && restoreGpt(moved.head, place).equals(head)).toBe(true);
  });

  test('stays where it is on a disk of the same size', () => {
    expect(moveBackupGpt(head, 8 * MIB, sectorSize)).toBeUndefined();
  });
});

test('an MBR says how far its last partition goes', () => {
  const head = Buffer.alloc(MIB);
  head.writeUInt16LE(0xaa55, 510);
  head[446 + 4] = 0x83;
  head.writeUInt32LE(2048, 446 + 8);
  head.writeUInt32LE(4096, 446 + 12);
  expect(readImageTable(head, 512)).toEqual({ kind: 'mbr', sectorSize: 512, neededBytes: 6144 * 512 });
});

test('what looks like entries in the boot sector of a file system is boot code, and asks for no disk of any size', () => {
  const head = Buffer.alloc(MIB);
  head.fill(0x72, 440, 510);
  head.writeUInt16LE(0xaa55, 510);
  head.write('NTFS    ', 3);
  expect(readImageTable(head, 512)).toBeUndefined();
  head.fill(0, 3, 11).write('FAT32   ', 0x52);
  expect(readImageTable(head, 512)).toBeUndefined();
});
