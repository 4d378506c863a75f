import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { addSections } from '../../initrd/micro-os/uki.ts';

const FOLDER = 'usr/lib/systemd/boot/efi';

/** Kernel, initramfs and command line as one EFI program (systemd's stub with sections added). */
export async function writeUnifiedKernel(
  file: string,
  parts: { root: string; commandLine: string; initramfs: Buffer },
): Promise<void> {
  const stub = await readFile(await systemdBootFile('linuxx64.efi.stub'));
  await writeFile(
    file,
    addSections(stub, [
      { name: '.osrel', contents: await readFile(join(parts.root, 'usr/lib/os-release')) },
      { name: '.cmdline', contents: Buffer.from(parts.commandLine) },
      { name: '.linux', contents: await readFile(join(parts.root, 'boot/vmlinuz')) },
      { name: '.initrd', contents: parts.initramfs },
    ]),
  );
}

/** A file of Debian's package systemd-boot-efi: the stub, or systemd-boot itself. */
export async function systemdBootFile(name: string): Promise<string> {
  const [bootPackage] = await resolvePackages(['systemd-boot-efi']);
  if (!bootPackage) throw new Error('resolvePackages gives what it is asked for');
  return join(await unpackPackage(bootPackage), FOLDER, name);
}
