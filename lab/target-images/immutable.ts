import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDiskImage } from './disk-image.ts';
import { ensureTargetImage, publishable, type TargetImage, type TargetParts } from './image-file.ts';
import { immutableInitramfs } from './immutable-initramfs.ts';
import { systemdBootFile, writeUnifiedKernel } from './unified-kernel.ts';
import { fillRoot, unpackRoot, writeDated } from './unpacked-root.ts';
import { signAsVendor } from './vendor.ts';

const ROOT_UUID = '6b696e64-6c69-4e67-a000-00000000000a';
const STATE_UUID = '6b696e64-6c69-4e67-a000-000000000003';
/** As in EMT, `boot_uuid` says which slot a kernel belongs to. gpt_auto would make the root of that disk writable, sealed or not. */
const KERNEL_COMMAND_LINE = `boot_uuid=${ROOT_UUID} systemd.gpt_auto=0 panic=10 console=tty0 console=ttyS0 net.ifnames=0 no_timer_check mitigations=off apparmor=0 audit=0`;
/** There is nothing to grow: the root is sealed, and the state partition has been grown already. */
const CLOUD_CONFIG = 'growpart: {mode: "off"}\nresize_rootfs: false\n';
const OUR_SOURCES = [
  'debian-root.ts',
  'disk-image.ts',
  'image-file.ts',
  'immutable.ts',
  'immutable-init.sh',
  'immutable-initramfs.ts',
  'unified-kernel.ts',
  'unpacked-root.ts',
  'vendor.ts',
];

/**
 * An immutable Debian in the shape of the Edge Microvisor Toolkit: systemd-boot, a unified kernel per slot, a root that dm-verity opens,
 * state on a partition of its own, cloud-init from cloud.cfg.d. The second slot and the seal are made when it is installed (fde_dmv). Cached.
 */
export function ensureImmutableTarget(): Promise<TargetImage> {
  return ensureTargetImage('immutable', { sources: OUR_SOURCES, title: 'immutable Debian', build });
}

async function build(
  target: string,
  { rootTar, vendor }: TargetParts,
  say: (progress: string) => void,
): Promise<void> {
  say('unpacking');
  const root = await unpackRoot(target, rootTar);
  await fillRoot(root, {
    'etc/fstab': '# the initramfs mounts what is needed\n',
    'etc/cloud/cloud.cfg.d/91_immutable.cfg': CLOUD_CONFIG,
    'persistent/': '',
  });

  say('kernel image');
  const uki = join(target, 'linux.efi');
  await writeUnifiedKernel(uki, {
    root,
    commandLine: KERNEL_COMMAND_LINE,
    initramfs: await immutableInitramfs(root),
  });
  const loader = join(target, 'systemd-boot.efi');
  await writeFile(loader, await readFile(await systemdBootFile('systemd-bootx64.efi')));
  const loaderConfig = join(target, 'loader.conf');
  await writeDated(loaderConfig, 'timeout 0\neditor no\n');
  for (const program of [uki, loader]) await signAsVendor(program, vendor);

  say('file systems');
  await makeDiskImage(join(target, 'disk.raw'), [
    {
      number: 1,
      label: 'esp',
      type: 'esp',
      mib: 64,
      content: {
        kind: 'fat',
        files: {
          '/EFI/BOOT/BOOTX64.EFI': loader,
          '/EFI/Linux/debian-a.efi': uki,
          '/loader/loader.conf': loaderConfig,
        },
      },
    },
    {
      number: 2,
      label: 'rootfs',
      type: 'root',
      mib: 512,
      content: { kind: 'ext4', label: 'rootfs', uuid: ROOT_UUID, folder: root },
    },
    {
      number: 3,
      label: 'edge_persistent',
      type: 'data',
      mib: 64,
      content: { kind: 'ext4', label: 'edge_persistent', uuid: STATE_UUID },
    },
  ]);
  await rm(root, { recursive: true });
  for (const file of [uki, loader, loaderConfig]) await rm(file);
  await publishable(target, (percent) => say(`compressing ${percent} %`));
}
