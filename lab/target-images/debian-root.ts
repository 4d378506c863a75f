import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached } from '../../initrd/build-cache.ts';
import { runTool } from '../../initrd/build-tool.ts';
import { debianSources } from '../../initrd/debian/mirror.ts';
import { step } from '../../system/step.ts';

const SUITE = 'bookworm';
/** Every time stamp in the image; fixed, so that two builds of the same packages are equal. */
export const EPOCH_SECONDS = 1_750_000_000;

const PACKAGES = [
  'linux-image-cloud-amd64', // NVMe and ext4 built in, which keeps the boot short
  'tiny-initramfs',
  'systemd-sysv',
  'systemd-resolved',
  'udev',
  'dbus',
  'cloud-init',
  'cloud-guest-utils',
  'fdisk',
  'e2fsprogs',
  'iproute2',
  'netbase',
  'ca-certificates',
  'curl',
  'openssh-server',
];

/** What a provisioning target never reads, and what only makes the image larger. */
const LEFT_OUT = [
  '/usr/share/man/*',
  '/usr/share/doc/*',
  '/usr/share/locale/*',
  '/usr/share/i18n/*',
  '/usr/share/info/*',
  '/usr/lib/udev/hwdb.d/*',
  '/usr/lib/modules/*/kernel/sound/*',
  '/usr/lib/modules/*/kernel/net/wireless/*',
];

/** Run in the new root before it is packed; `$1` is the root. */
const HOOKS = [
  'echo kindling-target > "$1/etc/hostname"',
  ': > "$1/etc/machine-id"; rm -f "$1/var/lib/dbus/machine-id" "$1"/etc/ssh/ssh_host_*',
  // One kind of host key: RSA alone takes half a minute without KVM. No locale: the package "locales" is not there.
  'printf "datasource_list: [NoCloud, None]\\nsystem_info: {network: {renderers: [networkd]}}\\nssh_genkeytypes: [ed25519]\\nlocale: false\\n" > "$1/etc/cloud/cloud.cfg.d/90_target.cfg"',
  // Without a NIC that works, waiting for the network must not take the two minutes of the default.
  'mkdir -p "$1/etc/systemd/system/systemd-networkd-wait-online.service.d"; printf "[Service]\\nExecStart=\\nExecStart=/lib/systemd/systemd-networkd-wait-online --any --timeout=20\\n" > "$1/etc/systemd/system/systemd-networkd-wait-online.service.d/any.conf"',
  'chroot "$1" systemctl enable systemd-networkd serial-getty@ttyS0.service >/dev/null',
  'chroot "$1" mktirfs -m no --include-modules=virtio_pci,virtio_blk -o /boot/initrd.img "$(ls "$1/lib/modules")"',
  // cloud-init adds the site's CA at first boot, which hashes every certificate again: a minute for the public ones in QEMU.
  ': > "$1/etc/ca-certificates.conf"; chroot "$1" update-ca-certificates --fresh >/dev/null',
  'cp "$1"/boot/vmlinuz-* "$1/boot/vmlinuz"; touch "$1/etc/.updated" "$1/var/.updated"',
  // Not /tmp: mmdebstrap keeps its apt settings there, and without them its last step empties this machine's own package lists.
  'rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/debconf/* "$1"/var/log/*',
];

/** What one Debian differs from another in. */
interface DebianRecipe {
  packages: readonly string[];
  hooks: readonly string[];
}

const WITH_CLOUD_INIT: DebianRecipe = { packages: PACKAGES, hooks: HOOKS };

/** A Debian (with systemd and the real cloud-init, if nothing else is asked for) as a tar file: made once, then taken from the cache. */
export async function ensureDebianRoot(recipe = WITH_CLOUD_INIT): Promise<string> {
  const { packages, hooks } = recipe;
  const inputs = { SUITE, EPOCH_SECONDS, PACKAGES: packages, LEFT_OUT, HOOKS: hooks };
  const folder = await cached('target-root', inputs, (target) =>
    step('Debian for the target image (about a minute and a half)', async () => {
      const sources = join(target, 'sources.list');
      await writeFile(sources, `${(await debianSources()).join('\n')}\n`);
      await runTool('env', [
        `SOURCE_DATE_EPOCH=${EPOCH_SECONDS}`,
        'mmdebstrap',
        '--quiet',
        '--variant=minbase',
        '--mode=root',
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=APT::Sandbox::User "root"',
        ...LEFT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`),
        `--include=${packages.join(',')}`,
        ...hooks.map((hook) => `--customize-hook=${hook}`),
        SUITE,
        join(target, 'root.tar'),
        sources,
      ]);
    }),
  );
  return join(folder, 'root.tar');
}
