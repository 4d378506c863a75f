import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { fileExists } from '../../system/file-exists.ts';
import type { ActionContext } from '../contract/action.ts';
import { enterRoot } from '../target-root/enter-root.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { runInRoot } from '../target-root/run-in-root.ts';

/** Programs that nothing is done without: another distribution's way of starting is not ours to change. */
const NEEDED = ['/usr/sbin/update-initramfs', '/usr/sbin/update-grub'];
/** A file of each package that opens the volumes at boot. */
const PACKAGES = {
  'cryptsetup-initramfs': '/usr/share/initramfs-tools/hooks/cryptroot',
  'tpm2-initramfs-tool': '/usr/bin/tpm2-initramfs-tool',
  'libtss2-tcti-device0': '/usr/lib/x86_64-linux-gnu/libtss2-tcti-device.so.0',
} as const;
/** What a system needs besides that seals the key to what it boots. */
const FOR_SEAL = { 'tpm2-tools': '/usr/bin/tpm2' } as const;

/** Makes sure, while nothing is encrypted yet, that the mounted system has what it will open its volumes with. */
export async function installEncryptionPackages(
  context: ActionContext,
  root: string,
  { isForSeal }: { isForSeal: boolean },
): Promise<void> {
  const lacks = async (file: string) => !(await fileExists(await pathInRoot(root, file)));
  for (const program of NEEDED) {
    if (!(await lacks(program))) continue;
    throw new KindlingError(
      'KND_ENCRYPTION_UNSUPPORTED',
      `the installed system has no ${program}: mutable systems are encrypted with initramfs-tools and GRUB, as Ubuntu and Debian have them`,
    );
  }
  const missing: string[] = [];
  for (const [name, file] of Object.entries({ ...PACKAGES, ...(isForSeal ? FOR_SEAL : {}) }))
    if (await lacks(file)) missing.push(name);
  if (missing.length === 0 && !(await hasHalfInstalled(root))) return;
  context.log('info', `installing ${missing.join(', ') || 'what was begun'}`);
  const inside = await enterRoot(context, root, { lendResolvConf: true });
  try {
    // Where a run was killed in the middle of this; what lacks a package that it needs is left for apt.
    await runInRoot(context, root, 'dpkg --configure -a || true');
    if (missing.length > 0 || (await hasHalfInstalled(root))) {
      await runInRoot(context, root, 'apt-get update');
      const install = 'apt-get install -y --fix-broken --no-install-recommends';
      await runInRoot(context, root, `${install} ${missing.join(' ')}`);
    }
  } catch (cause) {
    context.signal.throwIfAborted();
    throw new KindlingError(
      'KND_ENCRYPTION_PACKAGES',
      `the installed system lacks ${missing.join(', ') || 'a part of what was begun'}, and its package manager could not install it; nothing was encrypted`,
      { cause },
    );
  }
  await inside.leave();
}

/**
 * Whether a package is unpacked but not set up, by dpkg's record: its files are there, and yet it may lack what it needs. What dpkg was at when it
 * was killed is not in the record yet but beside it.
 */
async function hasHalfInstalled(root: string): Promise<boolean> {
  const record = await pathInRoot(root, '/var/lib/dpkg');
  const status = await readFile(path.join(record, 'status'), 'utf8').catch(() => '');
  const isHalf = /^Status: install \S+ (?:half-installed|unpacked|half-configured|triggers-\w+)$/m.test(
    status,
  );
  return isHalf || (await readdir(path.join(record, 'updates')).catch(() => [])).length > 0;
}
