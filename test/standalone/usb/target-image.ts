import { mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import { execa } from 'execa';
import { resolvePackages, unpackPackage } from '../../../initrd/debian/packages.ts';
import { encodeCpio } from '../../../protocol/cpio.ts';
import { encodeGpt } from '../../../protocol/partition-table/gpt-encode.ts';
import { LEGACY_BIOS_BOOTABLE } from '../../../protocol/partition-table/gpt-fields.ts';
import type { PartitionEntry } from '../../../protocol/partition-table/table.ts';
import { type BootOptions, collectBootFiles } from '../../../standalone/usb/boot-files.ts';
import { makeFatImage } from '../../../standalone/usb/fat-image.ts';

const MIB = 1024 * 1024;

/**
 * The smallest operating system that can be installed and started: a boot partition whose kernel says TARGET-UP and switches
 * the machine off, under UEFI and BIOS, and an ext4 root that takes a cloud-init seed. Compressed.
 */
export async function makeTargetImage(
  folder: string,
  secureBoot?: BootOptions['secureBoot'],
): Promise<string> {
  const boot = await collectBootFiles('console=ttyS0', { initramfs: await tinyInitramfs(), secureBoot });
  const esp: PartitionEntry = {
    number: 1,
    partLabel: 'esp',
    type: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
    partUuid: '00000000-0000-4000-8000-000000000001',
    startBytes: MIB,
    sizeBytes: 48 * MIB,
    attributes: LEGACY_BIOS_BOOTABLE,
  };
  const root: PartitionEntry = {
    number: 2,
    partLabel: 'rootfs',
    type: '4f68bce3-e8cd-4db1-96e7-fbcaf984b709',
    partUuid: '00000000-0000-4000-8000-000000000049',
    startBytes: 49 * MIB,
    sizeBytes: 32 * MIB,
  };
  const sizeBytes = 82 * MIB;

  const espImage = join(folder, 'target-esp.img');
  await makeFatImage(espImage, esp, 'TARGET', boot.files);
  await execa(boot.syslinux, ['--install', espImage]);
  const rootFolder = join(folder, 'target-root');
  for (const name of ['etc/cloud/cloud.cfg.d', 'var/lib/cloud', 'opt', 'root']) {
    await mkdir(join(rootFolder, name), { recursive: true });
  }
  await writeFile(join(rootFolder, 'etc/os-release'), 'ID=target\n');
  const rootImage = join(folder, 'target-root.img');
  await writeFile(rootImage, '');
  await truncate(rootImage, root.sizeBytes);
  await execa('mke2fs', ['-q', '-t', 'ext4', '-L', 'rootfs', '-d', rootFolder, rootImage]);

  const raw = Buffer.alloc(sizeBytes);
  const table = encodeGpt({
    diskGuid: '00000000-0000-4000-8000-000000000001',
    sectorBytes: 512,
    sizeBytes,
    partitions: [esp, root],
    bootCode: boot.mbrCode,
  });
  for (const { offset, bytes } of table) bytes.copy(raw, offset);
  (await readFile(espImage)).copy(raw, esp.startBytes);
  (await readFile(rootImage)).copy(raw, root.startBytes);
  const image = join(folder, 'target.raw.zst');
  await writeFile(image, await promisify(zstdCompress)(raw));
  return image;
}

async function tinyInitramfs(): Promise<Buffer> {
  const [busybox] = await resolvePackages(['busybox-static']);
  if (!busybox) throw new Error('apt gave no busybox-static');
  const contents = await readFile(join(await unpackPackage(busybox), 'bin/busybox'));
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
    { type: 'file', path: 'bin/busybox', mode: 0o755, contents },
    { type: 'file', path: 'init', mode: 0o755, contents: Buffer.from(init) },
  ]);
}
