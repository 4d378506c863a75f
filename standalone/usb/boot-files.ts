import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { ensureMicroOs } from '../../initrd/index.ts';

/** What makes a stick start: the same kernel and initramfs under UEFI (systemd-boot) and BIOS (syslinux). */
export interface BootFiles {
  /** Path on the boot partition → file here, or text. */
  files: { path: string; source: string | Buffer }[];
  /** Code for the MBR, which starts the partition with the legacy-boot attribute. */
  mbrCode: Buffer;
  /** The program that puts the BIOS loader into a FAT image. */
  syslinux: string;
}

export async function collectBootFiles(kernelArguments: string): Promise<BootFiles> {
  const microOs = await ensureMicroOs('minimal');
  const folders = new Map<string, string>();
  for (const one of await resolvePackages(['systemd-boot-efi', 'syslinux', 'syslinux-common'])) {
    folders.set(one.name, await unpackPackage(one));
  }
  const from = (name: string, path: string) => join(folders.get(name) ?? '', path);
  const text = (lines: string[]) => Buffer.from(`${lines.join('\n')}\n`);
  return {
    files: [
      {
        path: 'EFI/BOOT/BOOTX64.EFI',
        source: from('systemd-boot-efi', 'usr/lib/systemd/boot/efi/systemd-bootx64.efi'),
      },
      { path: 'kindling/vmlinuz', source: microOs.kernel },
      { path: 'kindling/initramfs', source: microOs.initramfs },
      { path: 'loader/loader.conf', source: text(['timeout 0', 'default kindling.conf', 'editor no']) },
      {
        path: 'loader/entries/kindling.conf',
        source: text([
          'title Kindling installer',
          'linux /kindling/vmlinuz',
          'initrd /kindling/initramfs',
          `options ${kernelArguments}`,
        ]),
      },
      {
        path: 'syslinux.cfg',
        source: text([
          'DEFAULT kindling',
          'LABEL kindling',
          '  LINUX /kindling/vmlinuz',
          '  INITRD /kindling/initramfs',
          `  APPEND ${kernelArguments}`,
        ]),
      },
    ],
    mbrCode: await readFile(from('syslinux-common', 'usr/lib/syslinux/mbr/gptmbr.bin')),
    syslinux: from('syslinux', 'usr/bin/syslinux'),
  };
}
