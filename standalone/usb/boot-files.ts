import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { ensureMicroOs, type Profile, ROOT_ARGUMENTS } from '../../initrd/index.ts';
import { type SigningKey, signEfiProgram } from '../../initrd/micro-os/sign-efi.ts';
import { addSections } from '../../initrd/micro-os/uki.ts';
import { BIOS_DISK_ENTRY } from '../../protocol/stick.ts';

/** What makes a medium start: a unified kernel image under UEFI, the same kernel and initramfs by syslinux under BIOS. */
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
  secureBoot?: SigningKey | undefined;
}

/** The boot files of a stick: the Micro-OS, started with what tells it which stick and whose. */
export async function collectBootFiles(
  kernelArguments: string,
  profile: Profile,
  options: BootOptions = {},
): Promise<BootFiles> {
  const microOs = await ensureMicroOs(profile);
  return bootFilesOf({
    kernel: await readFile(microOs.kernel),
    initramfs: await readFile(microOs.initramfs),
    commandLine: `${ROOT_ARGUMENTS} ${kernelArguments}`,
    title: 'Kindling installer',
    canStartDisk: true,
    ...options,
  });
}

export interface BootRecipe extends BootOptions {
  kernel: Buffer;
  initramfs: Buffer;
  commandLine: string;
  title: string;
  /** With an entry for BIOS that starts one of the machine's disks; the agent asks for it by the boot-once command. */
  canStartDisk?: boolean;
}

/**
 * The kernel command line stands inside the unified kernel image, so that the firmware's signature check covers it, and with it
 * everything that the key it names has signed.
 */
export async function bootFilesOf(recipe: BootRecipe): Promise<BootFiles> {
  const { kernel, initramfs, commandLine, title, secureBoot } = recipe;
  const folders = new Map<string, string>();
  for (const one of await resolvePackages(['systemd-boot-efi', 'syslinux', 'syslinux-common'])) {
    folders.set(one.name, await unpackPackage(one));
  }
  const from = (name: string, path: string) => join(folders.get(name) ?? '', path);
  const uki = addSections(
    await readFile(from('systemd-boot-efi', 'usr/lib/systemd/boot/efi/linuxx64.efi.stub')),
    [
      { name: '.osrel', contents: Buffer.from(`ID=kindling\nPRETTY_NAME="${title}"\n`) },
      { name: '.cmdline', contents: Buffer.from(`${commandLine}\0`) },
      { name: '.initrd', contents: initramfs },
      { name: '.linux', contents: kernel },
    ],
  );
  const modules = recipe.canStartDisk ? ['chain.c32', 'libcom32.c32', 'libutil.c32'] : [];
  return {
    files: [
      { path: 'EFI/BOOT/BOOTX64.EFI', source: secureBoot ? await signEfiProgram(uki, [secureBoot]) : uki },
      { path: 'kindling/vmlinuz', source: kernel },
      { path: 'kindling/initramfs', source: initramfs },
      { path: 'syslinux.cfg', source: Buffer.from(menu(commandLine, recipe.canStartDisk ?? false)) },
      ...modules.map((path) => ({
        path,
        source: from('syslinux-common', `usr/lib/syslinux/modules/bios/${path}`),
      })),
    ],
    mbrCode: await readFile(from('syslinux-common', 'usr/lib/syslinux/mbr/gptmbr.bin')),
    syslinux: from('syslinux', 'usr/bin/syslinux'),
  };
}

function menu(commandLine: string, canStartDisk: boolean): string {
  return [
    'DEFAULT kindling',
    // A disk that is not there leaves syslinux at a prompt, which nobody answers: on with the default after three seconds.
    'TIMEOUT 30',
    'LABEL kindling',
    '  LINUX /kindling/vmlinuz',
    '  INITRD /kindling/initramfs',
    `  APPEND ${commandLine}`,
    ...(canStartDisk ? [`LABEL ${BIOS_DISK_ENTRY}`, '  COM32 chain.c32'] : []),
    '',
  ].join('\n');
}
