import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { ensureMicroOs, ROOT_ARGUMENTS } from '../../initrd/index.ts';
import { addSections } from '../../initrd/micro-os/uki.ts';
import { tool } from './fat-image.ts';

/** What makes a stick start: a unified kernel image under UEFI, the same kernel and initramfs by syslinux under BIOS. */
export interface BootFiles {
  /** Path on the boot partition → file here, or bytes. */
  files: { path: string; source: string | Buffer }[];
  /** Code for the MBR, which starts the partition with the legacy-boot attribute. */
  mbrCode: Buffer;
  /** The program that puts the BIOS loader into a FAT image. */
  syslinux: string;
}

export interface BootOptions {
  /** PEM files of the site's Secure Boot key and certificate (db); without them the image is not signed. */
  secureBoot?: { key: string; certificate: string } | undefined;
  /** Another initramfs than the Micro-OS's. */
  initramfs?: Buffer;
}

/**
 * The kernel command line names the stick and its key. It stands inside the unified kernel image, so that the firmware's
 * signature check covers it, and with it everything that the key has signed.
 */
export async function collectBootFiles(
  kernelArguments: string,
  options: BootOptions = {},
): Promise<BootFiles> {
  const microOs = await ensureMicroOs('minimal');
  const kernel = await readFile(microOs.kernel);
  const initramfs = options.initramfs ?? (await readFile(microOs.initramfs));
  const folders = new Map<string, string>();
  for (const one of await resolvePackages(['systemd-boot-efi', 'syslinux', 'syslinux-common'])) {
    folders.set(one.name, await unpackPackage(one));
  }
  const from = (name: string, path: string) => join(folders.get(name) ?? '', path);
  const commandLine = `${ROOT_ARGUMENTS} ${kernelArguments}`;
  const uki = addSections(
    await readFile(from('systemd-boot-efi', 'usr/lib/systemd/boot/efi/linuxx64.efi.stub')),
    [
      { name: '.osrel', contents: Buffer.from('ID=kindling\nPRETTY_NAME="Kindling installer"\n') },
      { name: '.cmdline', contents: Buffer.from(`${commandLine}\0`) },
      { name: '.initrd', contents: initramfs },
      { name: '.linux', contents: kernel },
    ],
  );
  const menu = [
    'DEFAULT kindling',
    'LABEL kindling',
    '  LINUX /kindling/vmlinuz',
    '  INITRD /kindling/initramfs',
    `  APPEND ${commandLine}`,
    '',
  ].join('\n');
  return {
    files: [
      {
        path: 'EFI/BOOT/BOOTX64.EFI',
        source: options.secureBoot ? await signed(uki, options.secureBoot) : uki,
      },
      { path: 'kindling/vmlinuz', source: kernel },
      { path: 'kindling/initramfs', source: initramfs },
      { path: 'syslinux.cfg', source: Buffer.from(menu) },
    ],
    mbrCode: await readFile(from('syslinux-common', 'usr/lib/syslinux/mbr/gptmbr.bin')),
    syslinux: from('syslinux', 'usr/bin/syslinux'),
  };
}

async function signed(
  image: Buffer,
  { key, certificate }: { key: string; certificate: string },
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-sign-'));
  try {
    const [plain, result] = [join(folder, 'plain.efi'), join(folder, 'signed.efi')];
    await writeFile(plain, image);
    await tool('sbsign', ['--key', key, '--cert', certificate, '--output', result, plain], 'sbsigntool');
    return await readFile(result);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
