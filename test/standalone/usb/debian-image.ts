import { copyFile, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { encodeCpio } from '../../../formats/cpio.ts';
import { LEGACY_BIOS_BOOTABLE } from '../../../formats/partition-table/gpt-fields.ts';
import type { PartitionEntry } from '../../../formats/partition-table/table.ts';
import { cached, hashOfFile } from '../../../initrd/build-cache.ts';
import { runTool } from '../../../initrd/build-tool.ts';
import { dependencyOf, resolvePackages, unpackPackage } from '../../../initrd/debian/packages.ts';
import { type KernelModule, moduleIndexes, selectModules } from '../../../initrd/micro-os/kernel-modules.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../../lab/qemu/micro-os.ts';
import { ensureDebianRoot } from '../../../lab/target-images/debian-root.ts';
import { type BootOptions, bootFilesOf } from '../../../standalone/usb/boot-files.ts';
import { makeFatImage } from '../../../standalone/usb/fat-image.ts';
import { step } from '../../../system/step.ts';
import { joinPartitions } from './join-partitions.ts';

const MIB = 1024 * 1024;
const ROOT_UUID = '6b696e64-6c69-4e67-a000-000000000006';
const COMMAND_LINE = `root=UUID=${ROOT_UUID} console=tty0 console=ttyS0 net.ifnames=0 ${LAB_KERNEL_ARGUMENTS.join(' ')} apparmor=0 audit=0`;
const ESP: PartitionEntry = {
  number: 1,
  partLabel: 'esp',
  type: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  partUuid: '6b696e64-6c69-4e67-a000-00000000000e',
  startBytes: MIB,
  sizeBytes: 64 * MIB,
  attributes: LEGACY_BIOS_BOOTABLE,
};
/** The last partition, so that cloud-init can let it grow. */
const ROOT: PartitionEntry = {
  number: 2,
  partLabel: 'rootfs',
  type: '4f68bce3-e8cd-4db1-96e7-fbcaf984b709',
  partUuid: '6b696e64-6c69-4e67-a000-00000000000f',
  startBytes: 65 * MIB,
  sizeBytes: 480 * MIB,
};

/** What finds and mounts the root; every bus a test installs to. */
const ROOT_MODULES = [
  'nvme',
  'ahci',
  'sd_mod',
  'virtio_pci',
  'virtio_blk',
  'crc32c_generic',
  'crc32c_intel',
  'ext4',
];
/** What the running system needs besides: its network card, and the stick it reports to. */
const SYSTEM_MODULES = [
  ...ROOT_MODULES,
  'virtio_net',
  'virtio_rng',
  'xhci_pci',
  'usb_storage',
  'uas',
  'vfat',
  'nls_cp437',
  'nls_ascii',
  'nls_iso8859_1',
  'nls_utf8',
  'efivarfs',
  'autofs4',
  'binfmt_misc',
];

/**
 * The Debian of lab/target-images with the kernel for real machines (the cloud kernel knows no USB), as a disk image that starts under
 * UEFI, with its loader signed, and under BIOS. Compressed; made once, then taken from the cache.
 */
export async function ensureDebianImage(secureBoot: NonNullable<BootOptions['secureBoot']>): Promise<string> {
  const rootTar = await ensureDebianRoot();
  const kernelName = await dependencyOf('linux-image-amd64', /^linux-image-[0-9].*-amd64$/);
  const [kernel] = await resolvePackages([kernelName]);
  if (!kernel) throw new Error(`apt gave no ${kernelName}`);
  const inputs = {
    rootTar,
    kernel,
    key: await hashOfFile(secureBoot.key),
    source: await hashOfFile(import.meta.filename),
  };
  const folder = await cached('target-stick-debian', inputs, (target) =>
    step('target image “Debian for any firmware”', async (say) => {
      say('root');
      const root = join(target, 'root');
      await mkdir(root);
      await runTool('tar', ['-x', '-f', rootTar, '-C', root, '--numeric-owner', '--xattrs']);
      await writeFile(join(root, 'etc/fstab'), `UUID=${ROOT_UUID} / ext4 errors=remount-ro,noatime 0 1\n`);
      await shortenFirstBoot(root);
      const boot = await replaceKernel(root, await unpackPackage(kernel));
      say('file systems');
      const files = await bootFilesOf({ ...boot, commandLine: COMMAND_LINE, title: 'Debian', secureBoot });
      const esp = join(target, 'esp.img');
      await makeFatImage(esp, ESP, 'DEBIAN', files.files);
      await runTool(files.syslinux, ['--install', esp]);
      const rootImage = join(target, 'root.img');
      await writeFile(rootImage, '');
      await truncate(rootImage, ROOT.sizeBytes);
      const options = ['-q', '-t', 'ext4', '-L', 'rootfs', '-U', ROOT_UUID, '-m', '1', '-d', root];
      await runTool('mke2fs', [...options, rootImage]);
      say('compressing');
      const raw = join(target, 'disk.raw');
      await joinPartitions(
        raw,
        new Map([
          [ESP, esp],
          [ROOT, rootImage],
        ]),
        files.mbrCode,
      );
      await runTool('zstd', ['-q', '-1', '-T0', raw, '-o', join(target, 'debian.raw.zst')]);
      for (const part of [root, esp, rootImage, raw]) await rm(part, { recursive: true });
    }),
  );
  return join(folder, 'debian.raw.zst');
}

/** What takes long without a hardware random source, a network or a fast processor, and is not what these tests are about. */
async function shortenFirstBoot(root: string): Promise<void> {
  const settings = 'ssh_genkeytypes: [ed25519]\nno_ssh_fingerprints: true\nlocale: false\n';
  await writeFile(join(root, 'etc/cloud/cloud.cfg.d/91_short.cfg'), settings);
  const wait =
    '[Service]\nExecStart=\nExecStart=/lib/systemd/systemd-networkd-wait-online --any --timeout=2\n';
  await writeFile(join(root, 'etc/systemd/system/systemd-networkd-wait-online.service.d/any.conf'), wait);
  const units = ['apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_reap.service', 'e2scrub_all.timer'];
  await runTool('chroot', [root, 'systemctl', 'mask', ...units]);
}

async function replaceKernel(
  root: string,
  kernelPackage: string,
): Promise<{ kernel: Buffer; initramfs: Buffer }> {
  const [version = ''] = await readdir(join(kernelPackage, 'lib/modules'));
  const from = join(kernelPackage, 'lib/modules', version);
  const to = join(root, 'usr/lib/modules', version);
  await rm(join(root, 'usr/lib/modules'), { recursive: true });
  for (const name of await readdir(join(root, 'boot')))
    await rm(join(root, 'boot', name), { recursive: true });
  for (const { path, contents } of await selectModules(from, SYSTEM_MODULES)) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await writeFile(join(to, path), contents);
  }
  for (const name of ['modules.builtin', 'modules.builtin.modinfo', 'modules.order'])
    await copyFile(join(from, name), join(to, name));
  await runTool('chroot', [root, 'depmod', version]);
  const initramfs = await rootInitramfs(version, await selectModules(from, ROOT_MODULES));
  return { kernel: await readFile(join(kernelPackage, 'boot', `vmlinuz-${version}`)), initramfs };
}

/** Loads drivers until the root is there, and goes on to its init. */
async function rootInitramfs(version: string, modules: readonly KernelModule[]): Promise<Buffer> {
  const { dependencies } = moduleIndexes(modules);
  const init = [
    '#!/bin/busybox sh',
    'export PATH=/bin',
    '/bin/busybox --install -s /bin',
    'mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys',
    ...ROOT_MODULES.map((name) => `modprobe ${name}`),
    `until root=$(findfs UUID=${ROOT_UUID} 2>/dev/null); do sleep 0.2; done`,
    'mount -t ext4 -o ro "$root" /root',
    'umount /proc /sys; mount -o move /dev /root/dev',
    'exec switch_root /root /sbin/init',
    '',
  ].join('\n');
  const folder = (path: string) => ({ type: 'directory' as const, path, mode: 0o755 });
  const file = (path: string, contents: Buffer) => ({ type: 'file' as const, path, mode: 0o755, contents });
  const base = `lib/modules/${version}`;
  const folders = new Set(['bin', 'dev', 'proc', 'sys', 'root', 'lib', 'lib/modules', base]);
  for (const { path } of modules) {
    const parents = dirname(`${base}/${path}`).split('/');
    for (let depth = 1; depth <= parents.length; depth++) folders.add(parents.slice(0, depth).join('/'));
  }
  return encodeCpio([
    ...[...folders].sort().map(folder),
    file('bin/busybox', await staticBusybox()),
    file('init', Buffer.from(init)),
    file(`${base}/modules.dep`, Buffer.from(dependencies)),
    ...modules.map(({ path, contents }) => file(`${base}/${path}`, contents)),
  ]);
}

/** A shell and two hundred tools in one file. */
export async function staticBusybox(): Promise<Buffer> {
  const [busybox] = await resolvePackages(['busybox-static']);
  if (!busybox) throw new Error('apt gave no busybox-static');
  return readFile(join(await unpackPackage(busybox), 'bin/busybox'));
}
