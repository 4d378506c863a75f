import { mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { encodeCpio } from '../../../formats/cpio.ts';
import { LEGACY_BIOS_BOOTABLE } from '../../../formats/partition-table/gpt-fields.ts';
import type { PartitionEntry } from '../../../formats/partition-table/table.ts';
import { indexImage } from '../../../images/index-image.ts';
import { ensureMicroOs } from '../../../initrd/index.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../../lab/qemu/micro-os.ts';
import { type BootOptions, bootFilesOf } from '../../../standalone/usb/boot-files.ts';
import { makeFatImage } from '../../../standalone/usb/fat-image.ts';
import { staticBusybox } from './debian-image.ts';
import { joinPartitions } from './join-partitions.ts';

const MIB = 1024 * 1024;

const ESP: PartitionEntry = {
  number: 1,
  partLabel: 'esp',
  type: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  partUuid: '00000000-0000-4000-8000-000000000001',
  startBytes: MIB,
  sizeBytes: 48 * MIB,
  attributes: LEGACY_BIOS_BOOTABLE,
};
/** Where the root of the target image lies. */
export const TARGET_ROOT: PartitionEntry = {
  number: 2,
  partLabel: 'rootfs',
  type: '4f68bce3-e8cd-4db1-96e7-fbcaf984b709',
  partUuid: '00000000-0000-4000-8000-000000000049',
  startBytes: 49 * MIB,
  sizeBytes: 32 * MIB,
};

/**
 * The smallest operating system that can be installed and started: a boot partition whose kernel says TARGET-UP and switches
 * the machine off, under UEFI and BIOS, and an ext4 root that takes a cloud-init seed. A chunked image, so that writing it resumes.
 */
export async function makeTargetImage(
  folder: string,
  secureBoot?: BootOptions['secureBoot'],
): Promise<string> {
  const boot = await bootFilesOf({
    kernel: await readFile((await ensureMicroOs('minimal')).kernel),
    initramfs: await tinyInitramfs(),
    commandLine: ['console=ttyS0', ...LAB_KERNEL_ARGUMENTS].join(' '),
    title: 'Target',
    secureBoot,
  });
  const espImage = join(folder, 'target-esp.img');
  await makeFatImage(espImage, ESP, 'TARGET', boot.files);
  await execa(boot.syslinux, ['--install', espImage]);
  const rootFolder = join(folder, 'target-root');
  for (const name of ['etc/cloud/cloud.cfg.d', 'var/lib/cloud', 'opt', 'root']) {
    await mkdir(join(rootFolder, name), { recursive: true });
  }
  await writeFile(join(rootFolder, 'etc/os-release'), 'ID=target\n');
  const rootImage = join(folder, 'target-root.img');
  await writeFile(rootImage, '');
  await truncate(rootImage, TARGET_ROOT.sizeBytes);
  await execa('mke2fs', ['-q', '-t', 'ext4', '-L', 'rootfs', '-d', rootFolder, rootImage]);
  const raw = join(folder, 'target.raw');
  await joinPartitions(
    raw,
    new Map([
      [ESP, espImage],
      [TARGET_ROOT, rootImage],
    ]),
    boot.mbrCode,
  );
  const image = join(folder, 'target.raw.zst');
  const { manifest } = await indexImage(raw, image);
  await writeFile(`${image}.manifest`, manifest);
  return image;
}

async function tinyInitramfs(): Promise<Buffer> {
  const init = [
    '#!/bin/busybox sh',
    '/bin/busybox mount -t devtmpfs dev /dev',
    '/bin/busybox echo TARGET-UP > /dev/ttyS0',
    '/bin/busybox sleep 1',
    '/bin/busybox poweroff -f',
    '',
  ].join('\n');
  return encodeCpio([
    { type: 'directory', path: 'bin', mode: 0o755 },
    { type: 'directory', path: 'dev', mode: 0o755 },
    { type: 'file', path: 'bin/busybox', mode: 0o755, contents: await staticBusybox() },
    { type: 'file', path: 'init', mode: 0o755, contents: Buffer.from(init) },
  ]);
}
