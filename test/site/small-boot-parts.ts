import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeEfiProgram } from '../../initrd/micro-os/efi-program.ts';
import { addSections } from '../../initrd/micro-os/uki.ts';

/** A Micro-OS and an iPXE of a few kilobytes that can be signed like real ones but not booted. */
export function makeSmallBootParts(folder: string): { microOsFolder: string; ipxeFolder: string } {
  mkdirSync(folder, { recursive: true });
  const at = (name: string) => join(folder, name);
  const kernel = makeEfiProgram(Buffer.from('kernel'));
  writeFileSync(at('vmlinuz-x86_64'), kernel);
  writeFileSync(at('initramfs-x86_64'), 'initramfs');
  const sections = ['.osrel', '.uname', '.cmdline', '.initrd', '.linux'];
  const uki = addSections(
    makeEfiProgram(Buffer.from('stub')),
    sections.map((name) => ({ name, contents: Buffer.from(name) })),
  );
  writeFileSync(at('kindling-x86_64.efi'), uki);
  for (const name of ['ipxe.efi', 'snponly.efi', 'undionly.kpxe'])
    copyFileSync(at('vmlinuz-x86_64'), at(name));
  return { microOsFolder: folder, ipxeFolder: folder };
}
