import { describe, expect, it } from 'vitest';
import { isOnDisk, partitionPath, splitPartitionPath } from '../../../actions/disks/partition-paths.ts';

describe('partition paths', () => {
  it.each([
    ['/dev/sda', 1, '/dev/sda1'],
    ['/dev/sdaa', 12, '/dev/sdaa12'],
    ['/dev/vdb', 3, '/dev/vdb3'],
    ['/dev/xvda', 2, '/dev/xvda2'],
    ['/dev/nvme0n1', 1, '/dev/nvme0n1p1'],
    ['/dev/nvme10n2', 15, '/dev/nvme10n2p15'],
    ['/dev/mmcblk0', 1, '/dev/mmcblk0p1'],
    ['/dev/loop0', 1, '/dev/loop0p1'],
    ['/dev/nbd0', 4, '/dev/nbd0p4'],
    ['/dev/md127', 4, '/dev/md127p4'],
    ['/dev/disk/by-id/ata-Disk_1', 1, '/dev/disk/by-id/ata-Disk_1-part1'],
    ['/dev/disk/by-path/pci-0000:00:04.0-nvme-1', 2, '/dev/disk/by-path/pci-0000:00:04.0-nvme-1-part2'],
  ])('%s and %i make %s, and back', (disk, number, path) => {
    expect(partitionPath(disk, number)).toBe(path);
    expect(splitPartitionPath(path)).toEqual({ disk, number });
  });

  it.each([
    '/dev/sda',
    '/dev/nvme0n1',
    '/dev/mmcblk0',
    '/dev/loop7',
    '/dev/disk/by-id/ata-Disk_1',
    '/dev/mapper/x1',
  ])('%s is a whole disk', (path) => {
    expect(splitPartitionPath(path)).toBeUndefined();
  });
});

it.each([
  ['/dev/sda', '/dev/sda', true],
  ['/dev/sda1', '/dev/sda', true],
  ['/dev/sdaa1', '/dev/sda', false],
  ['/dev/sdaa', '/dev/sda', false],
  ['/dev/nvme0n1p1', '/dev/nvme0n1', true],
  ['/dev/nvme0n10', '/dev/nvme0n1', false],
  ['/dev/nvme0n10p1', '/dev/nvme0n1', false],
  ['/dev/dm-0', '/dev/dm-0', true],
  ['/dev/dm-01', '/dev/dm-0', false],
])('%s is on %s: %s', (device, disk, isOn) => {
  expect(isOnDisk(device, disk)).toBe(isOn);
});
