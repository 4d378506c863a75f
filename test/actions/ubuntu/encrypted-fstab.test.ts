import { expect, it } from 'vitest';
import { encryptedFstab } from '../../../actions/ubuntu/encrypted-fstab.ts';

const CLOUD_IMAGE = `LABEL=cloudimg-rootfs\t/\text4\tdiscard,commit=30,errors=remount-ro\t0 1
LABEL=BOOT\t/boot\text4\tdefaults\t0 2
LABEL=UEFI\t/boot/efi\tvfat\tumask=0077\t0 1
# a note about /
/dev/sdz1 none swap sw 0 0
`;

it('the root and the data are the encrypted volumes; everything else stays', () => {
  const lines = encryptedFstab(CLOUD_IMAGE, undefined).trim().split('\n');
  expect(lines).toEqual([
    '/dev/mapper/rootfs_crypt / ext4 discard,commit=30,errors=remount-ro 0 1',
    'LABEL=BOOT\t/boot\text4\tdefaults\t0 2',
    'LABEL=UEFI\t/boot/efi\tvfat\tumask=0077\t0 1',
    '# a note about /',
    '/dev/sdz1 none swap sw 0 0',
    '/dev/mapper/persistent_crypt /data_persistent ext4 defaults 0 2',
    '/data_persistent/rancher /var/lib/rancher none bind 0 0',
    '/data_persistent/kubelet /var/lib/kubelet none bind 0 0',
    '/dev/mapper/swap_crypt none swap defaults 0 0',
  ]);
});

it('a second run changes nothing', () => {
  const first = encryptedFstab(CLOUD_IMAGE, 'UUID=b');
  expect(first).toContain('UUID=b /boot ext4');
  expect(first).not.toContain('LABEL=BOOT');
  expect(encryptedFstab(first, 'UUID=b')).toBe(first);
});

it('a system without an fstab gets one', () => {
  expect(encryptedFstab('', undefined)).toMatch(
    /^\/dev\/mapper\/rootfs_crypt \/ ext4 errors=remount-ro 0 1$/m,
  );
});
