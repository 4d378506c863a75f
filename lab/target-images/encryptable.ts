import { copyFile, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, hashOfFile } from '../../initrd/build-cache.ts';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { step } from '../../system/step.ts';
import { ensureDebianRoot } from './debian-root.ts';
import { makeDiskImage, type PartitionRecipe } from './disk-image.ts';
import { dateFiles, fillRoot, unpackRoot, writeDated } from './unpacked-root.ts';

const ROOT_MIB = 176;
const BOOT_MIB = 64;
const ESP_MIB = 40;
const OUR_SOURCES = ['debian-root.ts', 'disk-image.ts', 'encryptable.ts', 'unpacked-root.ts'];

/** What Ubuntu's cloud images bring for encryption, and what EMF installs into them. */
const PACKAGES = [
  'linux-image-cloud-amd64',
  'initramfs-tools',
  'zstd',
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
  // Only what the hooks ask for, quickly packed: the initramfs is made again on a machine without acceleration. NVMe, ext4 and the TPM are built in.
  'printf "MODULES=list\\nCOMPRESS=zstd\\nCOMPRESSLEVEL=1\\n" > "$1/etc/initramfs-tools/conf.d/small"; chroot "$1" update-initramfs -u -k all',
  // The boot menu, too: without what looks for Xen, other systems and the firmware's own menu, without colors, and with one entry.
  'cd "$1/etc/grub.d"; chmod -x 05_debian_theme 20_linux_xen 30_os-prober 30_uefi-firmware',
  // The whole root travels through the encryption, there and back: what it never reads stays out of it.
  'cd "$1"/usr/lib/modules/*/kernel; rm -rf net sound virt; find drivers fs -mindepth 1 -maxdepth 1 ! -name md ! -name char ! -name virtio ! -name fat ! -name nls ! -name efivarfs ! -name autofs -exec rm -rf {} +; chroot "$1" depmod "$(ls "$1/lib/modules")"',
  'cd "$1/usr"; rm -rf lib/udev/hwdb.* share/perl lib/x86_64-linux-gnu/perl lib/x86_64-linux-gnu/libperl.* lib/x86_64-linux-gnu/gconv share/zoneinfo share/grub/*.pf2 sbin/grub-install sbin/grub-macbless bin/grub-fstest bin/grub-mkrescue bin/grub-mkstandalone bin/grub-mknetdir bin/grub-mount bin/grub-render-label bin/grub-syslinux2cfg',
  'rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/debconf/* "$1"/var/log/*',
];

/**
 * Programs that the scripts of initramfs-tools start by the hundred. Without acceleration the start is all that counts, and that of a busybox without
 * libraries is the cheapest; others are called with options that only GNU's have.
 */
const STARTED_OFTEN = ['basename', 'cp', 'dirname', 'mkdir', 'readlink', 'sed'];
const SCRIPTS = 'usr/share/initramfs-tools';
/** realpath -s and -ms of every file that goes into the initramfs, without starting a program for it. */
const REALPATH = `realpath() {
	case "$2" in *..* | */./*) command realpath "$@"; return ;; esac
	local path="$2"
	while [ "$path" != "\${path#*//}" ]; do path="\${path%%//*}/\${path#*//}"; done
	echo "$path"
}
`;

/**
 * What hook-functions does for each of the 160 files and libraries, without a process for it: nearly half of all forks, 40 ms each. No library of this image
 * lies in a folder for one kind of processor.
 */
const WITHOUT_FORK: readonly [from: RegExp, to: string][] = [
  [/\[ "\$\(readlink -f \/bin\)" = \/usr\/bin \]/, '[ -L /bin ]'],
  [/^\t\tnonoptlib=\$\(echo "\$\{x\}" \|.*\n\t\tnonoptlib=.*$/m, '\t\tnonoptlib="$x"'],
  [
    /^\ttarget="(\$\(realpath -ms "\/\$\{target\}"\))" \|\| return 2$/m,
    `\tcase "/\${target#/}" in *//* | *..* | */./*) target="$1" || return 2 ;; *) target="/\${target#/}" ;; esac`,
  ],
];

/** In what the cloud images of Ubuntu's releases differ: 24.04 has /boot on a partition of its own. */
interface Release {
  rootUuid: string;
  bootUuid?: string;
  espLabel: string;
}

const RELEASES = {
  '22.04': { rootUuid: '6b696e64-6c69-4e67-a000-000000000002', espLabel: 'ESP' },
  '24.04': {
    rootUuid: '6b696e64-6c69-4e67-a000-000000000004',
    bootUuid: '6b696e64-6c69-4e67-a000-000000000005',
    espLabel: 'UEFI',
  },
} as const satisfies Record<string, Release>;

/**
 * A mutable Debian with GRUB and initramfs-tools, partitioned as Ubuntu's cloud image of that release: 15 the ESP, whose GRUB is the distribution's
 * signed one and looks for grub.cfg by a UUID, with 24.04 then 16 for /boot, and 1 the root. Gives the path of the raw image. Cached.
 */
export async function ensureEncryptableTarget(release: keyof typeof RELEASES): Promise<string> {
  const rootTar = await ensureEncryptableRoot();
  const sources = await Promise.all(OUR_SOURCES.map((name) => hashOfFile(join(import.meta.dirname, name))));
  const folder = await cached('target-encryptable', { rootTar, sources, release }, (target) =>
    step(`target image “Debian with GRUB”, as ${release}`, () => build(target, rootTar, RELEASES[release])),
  );
  return join(folder, 'disk.raw');
}

/** Its root file system as a tar file. */
export function ensureEncryptableRoot(): Promise<string> {
  return ensureDebianRoot({ packages: PACKAGES, hooks: HOOKS });
}

async function build(target: string, rootTar: string, release: Release): Promise<void> {
  const { rootUuid, bootUuid, espLabel } = release;
  const root = await unpackRoot(target, rootTar);
  await lightenScripts(root);
  await fillRoot(root, {
    'boot/efi/': '',
    'boot/grub/': '',
    'etc/fstab': [
      `UUID=${rootUuid} / ext4 errors=remount-ro 0 1`,
      ...(bootUuid ? ['LABEL=BOOT /boot ext4 defaults 0 2'] : []),
      `LABEL=${espLabel} /boot/efi vfat umask=0077 0 1`,
      '',
    ].join('\n'),
    'etc/default/grub':
      'GRUB_TIMEOUT=0\nGRUB_DISABLE_RECOVERY=true\nGRUB_DISABLE_SUBMENU=y\nGRUB_DISTRIBUTOR=Debian\nGRUB_TERMINAL=console\nGRUB_CMDLINE_LINUX="console=tty0 console=ttyS0 panic=10 no_timer_check mitigations=off apparmor=0 audit=0"\n',
    // Ubuntu's cloud images start without an initramfs, by the GUID of the root's partition.
    'etc/default/grub.d/40-force-partuuid.cfg': 'GRUB_FORCE_PARTUUID=6b696e64-6c69-6e67-8000-000000000001\n',
  });
  const partitions = [
    await systemPartition(target, release),
    ...(bootUuid ? [await bootPartition(target, root, bootUuid)] : []),
    rootPartition(root, rootUuid),
  ];
  await makeDiskImage(join(target, 'disk.raw'), partitions);
  for (const used of ['root', 'boot', 'grub.cfg'])
    await rm(join(target, used), { recursive: true, force: true });
}

async function lightenScripts(root: string): Promise<void> {
  const [busybox] = await resolvePackages(['busybox-static']);
  if (!busybox) throw new Error('resolvePackages gives what it is asked for');
  const programs = ['busybox', ...STARTED_OFTEN].map((name) => join(root, 'usr/bin', name));
  for (const program of programs) {
    await rm(program);
    if (program.endsWith('/busybox'))
      await copyFile(join(await unpackPackage(busybox), 'bin/busybox'), program);
    else await symlink('busybox', program);
  }
  await dateFiles([...programs, join(root, 'usr/bin')]);
  const script = (name: string) => readFile(join(root, SCRIPTS, name), 'utf8');
  const busyboxHook = await script('hooks/zz-busybox');
  const links = '"$DESTDIR/bin/busybox" --install "$DESTDIR/bin" 2>/dev/null'; // all at once, not one ln after the other
  await fillRoot(root, {
    [`${SCRIPTS}/hooks/zz-busybox`]: `${busyboxHook.slice(0, busyboxHook.indexOf('for alias in'))}${links}\n`,
    [`${SCRIPTS}/hooks/kmod`]: (await script('hooks/kmod')).replaceAll('cp -aZ', 'cp -af'), // -Z is for SELinux
    [`${SCRIPTS}/hook-functions`]: `${WITHOUT_FORK.reduce(replaceOnce, await script('hook-functions'))}\n${REALPATH}`,
  });
}

function replaceOnce(text: string, [from, to]: readonly [RegExp, string]): string {
  if (!from.test(text)) throw new Error(`initramfs-tools has changed: ${from} is not in its hook-functions`);
  return text.replace(from, to);
}

async function systemPartition(
  target: string,
  { rootUuid, bootUuid, espLabel }: Release,
): Promise<PartitionRecipe> {
  const [grub] = await resolvePackages(['grub-efi-amd64-signed']);
  if (!grub) throw new Error('resolvePackages gives what it is asked for');
  const loader = join(await unpackPackage(grub), 'usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed');
  const stub = join(target, 'grub.cfg');
  await writeDated(
    stub,
    `search.fs_uuid ${bootUuid ?? rootUuid} root\nset prefix=($root)'${bootUuid ? '' : '/boot'}/grub'\nconfigfile $prefix/grub.cfg\n`,
  );
  return {
    number: 15,
    label: 'ESP',
    type: 'esp',
    mib: ESP_MIB,
    content: {
      kind: 'fat',
      label: espLabel,
      files: { '/EFI/BOOT/BOOTX64.EFI': loader, '/EFI/debian/grub.cfg': stub },
    },
  };
}

/** /boot of the root, which keeps the empty folder. */
async function bootPartition(target: string, root: string, uuid: string): Promise<PartitionRecipe> {
  const folder = join(target, 'boot');
  await rename(join(root, 'boot'), folder);
  await fillRoot(root, { 'boot/': '' });
  return {
    number: 16,
    label: 'BOOT',
    type: 'data',
    mib: BOOT_MIB,
    content: { kind: 'ext4', label: 'BOOT', uuid, folder },
  };
}

function rootPartition(folder: string, uuid: string): PartitionRecipe {
  const content = { kind: 'ext4', label: 'rootfs', uuid, blockBytes: 4096, folder } as const;
  return { number: 1, label: 'rootfs', type: 'root', mib: ROOT_MIB, content };
}
