import { mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import { execa } from 'execa';
import { encodeCpio } from '../../../initrd/cpio.ts';
import { resolvePackages, unpackPackage } from '../../../initrd/debian/packages.ts';
import { type BootOptions, collectBootFiles } from '../../../standalone/usb/boot-files.ts';
import { makeFatImage } from '../../../standalone/usb/fat-image.ts';
import { encodeGpt, type NewPartition } from '../../../standalone/usb/gpt.ts';

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
  const partition = (name: string, typeGuid: string, startMib: number, sizeMib: number): NewPartition => ({
    name,
    typeGuid,
    uniqueGuid: `00000000-0000-4000-8000-${String(startMib).padStart(12, '0')}`,
    startBytes: startMib * MIB,
    sizeBytes: sizeMib * MIB,
  });
  const esp = { ...partition('esp', 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b', 1, 48), isLegacyBoot: true };
  const root = partition('rootfs', '4f68bce3-e8cd-4db1-96e7-fbcaf984b709', 49, 32);
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
  const table = encodeGpt(sizeBytes, '00000000-0000-4000-8000-000000000001', [esp, root], boot.mbrCode);
  table.head.copy(raw, 0);
  table.tail.copy(raw, sizeBytes - table.tail.length);
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
