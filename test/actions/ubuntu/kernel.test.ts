import { describe, expect, it } from 'vitest';
import { bootMounts, kernelFor } from '../../../actions/ubuntu/kernel.ts';

describe('the kernel', () => {
  it.each([
    ['ID=ubuntu\nVERSION_ID="24.04"\n', undefined, '6.11.0-17-generic'],
    ['ID=ubuntu\nVERSION_ID="22.04"\n', undefined, '6.8.0-52-generic'],
    ['ID=ubuntu\nVERSION_ID="24.04"\n', '6.8.0-60-generic', '6.8.0-60-generic'],
    ['ID=debian\nVERSION_ID="12"\n', '6.8.0-60-generic', undefined],
    ['', undefined, undefined],
  ])('of %j with %s wanted is %s', (osRelease, wanted, version) => {
    expect(kernelFor(osRelease, wanted)).toBe(version);
  });
});

it('what the system mounts below /boot is found by label, UUID and PARTUUID, the outer first', () => {
  const partition = (number: number, more: object) => ({
    number,
    path: `/dev/sda${number}`,
    startBytes: 0,
    sizeBytes: 0,
    signatures: [],
    ...more,
  });
  const disk = {
    partitions: [
      partition(15, { signatures: [{ type: 'vfat', label: 'UEFI' }] }),
      partition(16, { signatures: [{ type: 'ext4', label: 'BOOT', uuid: 'U' }] }),
    ],
  };
  const fstab =
    '# x\nLABEL=cloudimg-rootfs / ext4 defaults 0 1\nLABEL=UEFI /boot/efi vfat umask=0077 0 1\nLABEL=BOOT /boot ext4 defaults 0 2\nUUID=other /boot/x ext4 a 0 0\n';
  expect(bootMounts(fstab, disk)).toEqual([
    { device: '/dev/sda16', at: '/boot', fsType: 'ext4' },
    { device: '/dev/sda15', at: '/boot/efi', fsType: 'vfat' },
  ]);
});
