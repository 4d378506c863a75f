import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signEfiProgram } from '../../initrd/micro-os/sign-efi.ts';
import { openSecureBootKeys } from '../../site/secure-boot-keys.ts';

/** Leaves a site as versions up to November 2026 left it: with a kernel that the site's db key has signed. Gives that kernel. */
export async function signKernelAsBefore(stateFolder: string): Promise<Buffer> {
  const kernel = join(stateFolder, 'tink-stack', 'vmlinuz-x86_64');
  const { db } = await openSecureBootKeys(stateFolder);
  const program = await signEfiProgram(readFileSync(kernel), db);
  writeFileSync(kernel, program);
  const notesFile = join(stateFolder, 'secure-boot', 'signed.json');
  const notes = JSON.parse(readFileSync(notesFile, 'utf8')) as Record<string, unknown>;
  const is = createHash('sha256').update(program).digest('hex');
  writeFileSync(notesFile, JSON.stringify({ ...notes, 'vmlinuz-x86_64': { of: 'anything', is } }));
  return program;
}
