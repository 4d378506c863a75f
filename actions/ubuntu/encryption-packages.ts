import { access } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';
import type { ActionContext } from '../action.ts';
import { enterRoot } from '../cexec/enter-root.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { runInRoot } from './run-in-root.ts';

/** Programs that nothing is done without: another distribution's way of starting is not ours to change. */
const NEEDED = ['/usr/sbin/update-initramfs', '/usr/sbin/update-grub'];
/** A file of each package that opens the volumes at boot. */
const PACKAGES = {
  'cryptsetup-initramfs': '/usr/share/initramfs-tools/hooks/cryptroot',
  'tpm2-initramfs-tool': '/usr/bin/tpm2-initramfs-tool',
  'libtss2-tcti-device0': '/usr/lib/x86_64-linux-gnu/libtss2-tcti-device.so.0',
} as const;

/** Makes sure, while nothing is encrypted yet, that the mounted system has what it will open its volumes with. */
export async function installEncryptionPackages(context: ActionContext, root: string): Promise<void> {
  const lacks = async (file: string) =>
    access(await pathInRoot(root, file)).then(
      () => false,
      () => true,
    );
  for (const program of NEEDED) {
    if (!(await lacks(program))) continue;
    throw new KindlingError(
      'KND_ENCRYPTION_UNSUPPORTED',
      `the installed system has no ${program}: mutable systems are encrypted with initramfs-tools and GRUB, as Ubuntu and Debian have them`,
    );
  }
  const missing: string[] = [];
  for (const [name, file] of Object.entries(PACKAGES)) if (await lacks(file)) missing.push(name);
  if (missing.length === 0) return;
  context.log('info', `installing ${missing.join(', ')}`);
  const inside = await enterRoot(context, root, { lendResolvConf: true });
  try {
    await runInRoot(context, root, 'dpkg --configure -a'); // where a run was killed in the middle of this
    await runInRoot(context, root, 'apt-get update');
    await runInRoot(context, root, `apt-get install -y --no-install-recommends ${missing.join(' ')}`);
  } catch (cause) {
    context.signal.throwIfAborted();
    throw new KindlingError(
      'KND_ENCRYPTION_PACKAGES',
      `the installed system lacks ${missing.join(', ')}, and its package manager could not install them; nothing was encrypted`,
      { cause },
    );
  }
  await inside.leave();
}
