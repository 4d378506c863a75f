import { expect, test } from 'vitest';
import { probeSignatures, summarizeSignatures } from '../../../formats/disk-signatures/probe.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import type { ReadAt } from '../../../formats/partition-table/table.ts';
import fc from '../../seeds/fast-check.ts';

const MIB = 1024 * 1024;
const reader =
  (disk: Buffer): ReadAt =>
  async (at, length) =>
    disk.subarray(at, at + length);

/** Formats whose tools are not at hand here; bytes by their specifications. */
const WRITTEN_BY_HAND: [string, (disk: Buffer) => void][] = [
  ['linux_raid_member', (disk) => disk.set([0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0], 4096)], // 1.2
  [
    'linux_raid_member',
    (disk) => disk.set([0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0], (disk.length / 512 - 16) * 512),
  ], // 1.0
  ['linux_raid_member', (disk) => disk.set([0xfc, 0x4e, 0x2b, 0xa9, 0, 0, 0, 0], disk.length - 65536)], // 0.90
  ['isw_raid_member', (disk) => disk.write('Intel Raid ISM Cfg Sig. 1.3.00', disk.length - 1024)],
  ['ddf_raid_member', (disk) => disk.set([0xde, 0x11, 0xde, 0x11], disk.length - 512)],
  [
    'LVM2_member',
    (disk) => {
      disk.write('LABELONE', 512);
      disk.write('LVM2 001', 512 + 24);
      disk.write('abcdef0123456789ABCDEF0123456789', 512 + 32);
    },
  ],
  [
    'zfs_member',
    (disk) => {
      for (let index = 0; index < 8; index += 1) disk.writeUInt32LE(0x00bab10c, 128 * 1024 + index * 1024);
    },
  ],
  ['bcache', (disk) => disk.set(Buffer.from('c68573f64e1a45ca8265f57f48ba6d81', 'hex'), 4096 + 24)],
  ['ntfs', (disk) => disk.write('NTFS    ', 3)],
  ['BitLocker', (disk) => disk.write('-FVE-FS-', 3)],
  ['exfat', (disk) => disk.write('EXFAT   ', 3)],
  ['squashfs', (disk) => disk.write('hsqs', 0)],
  ['iso9660', (disk) => disk.write('CD001', 0x8001)],
  ['DM_verity_hash', (disk) => disk.write('verity\0\0', 0)],
  ['ceph_bluestore', (disk) => disk.write('bluestore block device\n', 0)],
  ['VMFS_volume_member', (disk) => disk.set([0x0d, 0xd0, 0x01, 0xc0], MIB)],
];

test.each(WRITTEN_BY_HAND)('%s is found, and zeroing its magic removes it', async (type, write) => {
  const disk = Buffer.alloc(4 * MIB);
  write(disk);
  const found = await probeSignatures(reader(disk), disk.length);
  expect(summarizeSignatures(found).map((signature) => signature.type)).toEqual([type]);
  for (const { magicOffset, magicBytes } of found) disk.fill(0, magicOffset, magicOffset + magicBytes);
  expect(await probeSignatures(reader(disk), disk.length)).toEqual([]);
});

test('the uuid of an LVM member has its dashes', async () => {
  const disk = Buffer.alloc(MIB);
  WRITTEN_BY_HAND.find(([type]) => type === 'LVM2_member')?.[1](disk);
  expect((await probeSignatures(reader(disk), disk.length))[0]?.uuid).toBe(
    'abcdef-0123-4567-89AB-CDEF-0123-456789',
  );
});

test('an empty disk, and one of no size at all, carry nothing', async () => {
  for (const size of [0, 512, 4096, MIB]) {
    const disk = Buffer.alloc(size);
    expect(await probeSignatures(reader(disk), size)).toEqual([]);
    expect(await readPartitionTable(reader(disk), size)).toBeUndefined();
  }
});

test('garbage, and a disk shorter than it claims, are read without an error', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 512, maxLength: 4096 }),
      fc.boolean(),
      async (bytes, isSigned) => {
        const disk = Buffer.alloc(70_000);
        disk.set(bytes);
        if (isSigned) disk.writeUInt16LE(0xaa55, 510);
        await probeSignatures(reader(disk), disk.length * 2);
        await readPartitionTable(reader(disk), disk.length * 2);
      },
    ),
    { numRuns: 50 },
  );
});

test('a chain of logical partitions that bites its tail ends', async () => {
  const disk = Buffer.alloc(MIB);
  const entry = (at: number, type: number, first: number, sectors: number) => {
    disk.writeUInt8(type, at + 4);
    disk.writeUInt32LE(first, at + 8);
    disk.writeUInt32LE(sectors, at + 12);
  };
  disk.writeUInt16LE(0xaa55, 510);
  entry(446, 0x05, 100, 1000);
  disk.writeUInt16LE(0xaa55, 100 * 512 + 510);
  entry(100 * 512 + 446, 0x83, 1, 10);
  entry(100 * 512 + 462, 0x05, 0, 1000); // points at itself
  const table = await readPartitionTable(reader(disk), disk.length);
  expect(table?.partitions.map(({ number }) => number)).toEqual([1, 5]);
});
