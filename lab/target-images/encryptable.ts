import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cached, hashOfFile } from '../../initrd/build-cache.ts';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { step } from '../../setup/step.ts';
import { ensureDebianRoot } from './debian-root.ts';
import { makeDiskImage } from './disk-image.ts';
import { unpackRoot, writeDated } from './unpacked-root.ts';

const ROOT_UUID = '6b696e64-6c69-4e67-a000-000000000002';
const ROOT_MIB = 300;
const ESP_MIB = 40;
const OUR_SOURCES = ['debian-root.ts', 'disk-image.ts', 'encryptable.ts', 'unpacked-root.ts'];

/** What Ubuntu's cloud images bring for encryption, and what EMF installs into them. */
const PACKAGES = [
  'linux-image-cloud-amd64',
  'initramfs-tools',
  'cryptsetup-initramfs',
  'tpm2-initramfs-tool',
  'libtss2-tcti-device0',
  'grub2-common',
  'systemd-sysv',
  'udev',
  'e2fsprogs',
];

const HOOKS = [
  'echo kindling-encrypted > "$1/etc/hostname"',
  ': > "$1/etc/machine-id"; rm -f "$1/var/lib/dbus/machine-id"',
  // Only what the hooks ask for: the initramfs is made again on a machine without acceleration. NVMe, ext4 and the TPM are built in.
  'echo MODULES=list > "$1/etc/initramfs-tools/conf.d/small"; chroot "$1" update-initramfs -u -k all',
  // The whole root travels through the encryption, there and back: what it never reads stays out of it.
  'cd "$1"/usr/lib/modules/*/kernel; rm -rf drivers/net drivers/gpu drivers/infiniband net fs/xfs fs/btrfs fs/ocfs2 fs/nfs fs/cifs sound; chroot "$1" depmod "$(ls "$1/lib/modules")"',
  'rm -rf "$1"/usr/lib/udev/hwdb.* "$1"/usr/lib/x86_64-linux-gnu/perl "$1"/usr/share/perl',
  'rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/debconf/* "$1"/var/log/*',
];

const FILES: Record<string, string> = {
  'etc/fstab': `UUID=${ROOT_UUID} / ext4 errors=remount-ro 0 1\nLABEL=ESP /boot/efi vfat umask=0077 0 1\n`,
  'etc/default/grub':
    'GRUB_TIMEOUT=0\nGRUB_DISTRIBUTOR=Debian\nGRUB_TERMINAL=console\nGRUB_CMDLINE_LINUX="console=tty0 console=ttyS0 panic=10 no_timer_check mitigations=off apparmor=0 audit=0"\n',
  // Ubuntu's cloud images start without an initramfs, by the GUID of the root's partition.
  'etc/default/grub.d/40-force-partuuid.cfg': 'GRUB_FORCE_PARTUUID=6b696e64-6c69-6e67-8000-000000000001\n',
  'boot/efi/.keep': '',
  'boot/grub/grub.cfg': `menuentry Debian {\n  linux /vmlinuz root=UUID=${ROOT_UUID} ro console=ttyS0\n  initrd /initrd.img\n}\n`,
};

/**
 * A mutable Debian with GRUB and initramfs-tools, partitioned as Ubuntu's cloud image of 22.04 is: 1 the root with /boot in it, 15 the ESP, whose
 * GRUB is the distribution's signed one and looks for grub.cfg by the UUID of the root. Gives the path of the raw image. Cached.
 */
export async function ensureEncryptableTarget(): Promise<string> {
  const rootTar = await ensureDebianRoot({ packages: PACKAGES, hooks: HOOKS });
  const sources = await Promise.all(OUR_SOURCES.map((name) => hashOfFile(join(import.meta.dirname, name))));
  const folder = await cached('target-encryptable', { rootTar, sources }, (target) =>
    step('target image «Debian with GRUB»', () => build(target, rootTar)),
  );
  return join(folder, 'disk.raw');
}

async function build(target: string, rootTar: string): Promise<void> {
  const root = await unpackRoot(target, rootTar);
  for (const [file, text] of Object.entries(FILES)) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await writeDated(join(root, file), text);
  }
  const [grub] = await resolvePackages(['grub-efi-amd64-signed']);
  if (!grub) throw new Error('resolvePackages gives what it is asked for');
  const stub = join(target, 'grub.cfg');
  await writeFile(
    stub,
    `search.fs_uuid ${ROOT_UUID} root\nset prefix=($root)'/boot/grub'\nconfigfile $prefix/grub.cfg\n`,
  );
  await makeDiskImage(join(target, 'disk.raw'), [
    {
      number: 15,
      label: 'ESP',
      type: 'esp',
      mib: ESP_MIB,
      content: {
        kind: 'fat',
        files: {
          '/EFI/BOOT/BOOTX64.EFI': join(
            await unpackPackage(grub),
            'usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed',
          ),
          '/EFI/debian/grub.cfg': stub,
        },
      },
    },
    {
      number: 1,
      label: 'rootfs',
      type: 'root',
      mib: ROOT_MIB,
      content: { kind: 'ext4', label: 'rootfs', uuid: ROOT_UUID, blockBytes: 4096, folder: root },
    },
  ]);
  await rm(root, { recursive: true });
  await rm(stub);
}
