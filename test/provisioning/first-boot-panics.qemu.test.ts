import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, it } from 'vitest';
import { encodeCpio } from '../../formats/cpio.ts';
import { dependencyOf, resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { addSections } from '../../initrd/micro-os/uki.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../lab/qemu/micro-os.ts';
import { systemdBootFile } from '../../lab/target-images/unified-kernel.ts';
import { buildTestImage } from '../actions/test-image.ts';
import { expectToFallBack, FALL_BACK_TIMEOUT_MS } from './falls-back.ts';

/**
 * All of a system that this test needs: it does what the cloud-init it was given asks for, and keeps the log that cloud-init 22.4 keeps.
 * Its root is the second partition.
 */
const INIT = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t devtmpfs dev /dev
until mount -t ext4 /dev/nvme0n1p2 /root; do sleep 0.1; done
grep -q sysrq-trigger /root/etc/cloud/cloud.cfg.d/99_infra.cfg || exec sleep 10000
mkdir -p /root/var/log
echo "handlers.py[DEBUG]: start: init-network/config-bootcmd: running config-bootcmd with frequency always" > /root/var/log/cloud-init.log
umount /root
echo 3 > /proc/sys/kernel/panic
echo c > /proc/sysrq-trigger
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-panics-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// With a real Debian and its cloud-init: first-boot-panics-debian.long.test.ts
it(
  'an installed system whose first boot panics falls back to the Micro-OS, which says why and does not write the disk again',
  async () => expectToFallBack(await smallestSystem()),
  FALL_BACK_TIMEOUT_MS,
);

async function smallestSystem(): Promise<{ zst: string; sha256: string }> {
  const loader = join(folder, 'linux.efi');
  await writeFile(loader, await unifiedKernel());
  await using image = await buildTestImage({
    loader,
    loaderPath: 'EFI/BOOT/BOOTX64.EFI',
    programs: { systemctl: '#!/bin/sh\n' }, // the template enables services
  });
  const zst = join(folder, 'image.raw.zst');
  await execa('zstd', ['-q', '-1', image.raw, '-o', zst]);
  return {
    zst,
    sha256: createHash('sha256')
      .update(await readFile(zst))
      .digest('hex'),
  };
}

/** The kernel for virtual machines, which has the drivers of NVMe and ext4 built in. */
async function unifiedKernel(): Promise<Buffer> {
  const name = await dependencyOf('linux-image-cloud-amd64', /^linux-image-[0-9].*-cloud-amd64$/);
  const [kernel] = await resolvePackages([name]);
  if (!kernel) throw new Error(`apt gave no ${name}`);
  const vmlinuz = join(await unpackPackage(kernel), 'boot', name.replace('linux-image', 'vmlinuz'));
  const folders = ['bin', 'dev', 'proc', 'root'];
  const initramfs = encodeCpio([
    ...folders.map((path) => ({ type: 'directory' as const, path, mode: 0o755 })),
    { type: 'file', path: 'bin/busybox', mode: 0o755, contents: await readFile('/bin/busybox') },
    { type: 'file', path: 'init', mode: 0o755, contents: Buffer.from(INIT) },
  ]);
  return addSections(await readFile(await systemdBootFile('linuxx64.efi.stub')), [
    { name: '.osrel', contents: Buffer.from('ID=smallest\n') },
    { name: '.cmdline', contents: Buffer.from(['console=ttyS0', ...LAB_KERNEL_ARGUMENTS].join(' ')) },
    { name: '.linux', contents: await readFile(vmlinuz) },
    { name: '.initrd', contents: initramfs },
  ]);
}
