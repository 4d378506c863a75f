import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { type BiosLoader, makeDiskImage } from './disk-image.ts';
import { ensureTargetImage, publishable, type TargetImage, type TargetParts } from './image-file.ts';
import { writeUnifiedKernel } from './unified-kernel.ts';
import { fillRoot, unpackRoot, writeDated } from './unpacked-root.ts';
import { signAsVendor } from './vendor.ts';

const ROOT_UUID = '6b696e64-6c69-4e67-a000-000000000001';
const KERNEL_COMMAND_LINE = `root=UUID=${ROOT_UUID} ro panic=10 console=tty0 console=ttyS0 net.ifnames=0 no_timer_check mitigations=off apparmor=0 audit=0`;
const SYSLINUX_MENU = `DEFAULT debian\nLABEL debian\n  LINUX /vmlinuz\n  INITRD /initrd.img\n  APPEND ${KERNEL_COMMAND_LINE}\n`;
const ESP_MIB = 48;
const ROOT_MIB = 480;
const OUR_SOURCES = [
  'debian-root.ts',
  'disk-image.ts',
  'image-file.ts',
  'mutable.ts',
  'unified-kernel.ts',
  'unpacked-root.ts',
  'vendor.ts',
];

/**
 * A mutable Debian (systemd, real cloud-init, ext4 "rootfs") as a disk image that boots under UEFI, with Secure Boot too, and BIOS. The partitions are numbered as in
 * Ubuntu's cloud images: 15 is the ESP, 1 the root, which comes last so that it can grow. Cached.
 */
export function ensureMutableTarget(): Promise<TargetImage> {
  return ensureTargetImage('mutable', { sources: OUR_SOURCES, title: 'mutable Debian', build });
}

async function build(
  target: string,
  { rootTar, vendor }: TargetParts,
  say: (progress: string) => void,
): Promise<void> {
  say('unpacking');
  const root = await unpackRoot(target, rootTar);
  await fillRoot(root, { 'etc/fstab': `UUID=${ROOT_UUID} / ext4 errors=remount-ro,noatime 0 1\n` });

  say('kernel image');
  const uki = join(target, 'linux.efi');
  await writeUnifiedKernel(uki, {
    root,
    commandLine: KERNEL_COMMAND_LINE,
    initramfs: await readFile(join(root, 'boot/initrd.img')),
  });
  await signAsVendor(uki, vendor);

  const menu = join(target, 'syslinux.cfg');
  await writeDated(menu, SYSLINUX_MENU);

  say('file systems');
  await makeDiskImage(join(target, 'disk.raw'), [
    {
      number: 15,
      label: 'ESP',
      type: 'esp',
      mib: ESP_MIB,
      content: {
        kind: 'fat',
        files: {
          '/EFI/BOOT/BOOTX64.EFI': uki,
          '/vmlinuz': join(root, 'boot/vmlinuz'),
          '/initrd.img': join(root, 'boot/initrd.img'),
          '/syslinux.cfg': menu,
        },
        biosLoader: await biosLoader(),
      },
    },
    {
      number: 1,
      label: 'rootfs',
      type: 'root',
      mib: ROOT_MIB,
      content: { kind: 'ext4', label: 'rootfs', uuid: ROOT_UUID, folder: root },
    },
  ]);
  await rm(root, { recursive: true });
  await rm(uki);
  await rm(menu);
  await publishable(target, (percent) => say(`compressing ${percent} %`));
}

async function biosLoader(): Promise<BiosLoader> {
  const [program, files] = await resolvePackages(['syslinux', 'syslinux-common']);
  if (!program || !files) throw new Error('resolvePackages gives what it is asked for');
  return {
    syslinux: join(await unpackPackage(program), 'usr/bin/syslinux'),
    mbrCode: join(await unpackPackage(files), 'usr/lib/syslinux/mbr/gptmbr.bin'),
  };
}
