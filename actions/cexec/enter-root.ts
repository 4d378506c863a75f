import { copyFile, lstat, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ActionContext } from '../action.ts';
import { type Mounted, mountOn } from '../mounts/mount.ts';
import type { LedgerEntry } from '../resources/ledger.ts';

/** Gives a mounted system what programs in it expect; leave() takes it away again, as the end of the action does. */
export async function enterRoot(
  context: Pick<ActionContext, 'run' | 'resources'>,
  root: string,
  options: { lendResolvConf: boolean },
): Promise<{ leave(): Promise<void> }> {
  const mounts: Mounted[] = [];
  for (const [type, directory, mode] of [
    ['devtmpfs', 'dev', 'rw'],
    ['proc', 'proc', 'ro'],
    ['sysfs', 'sys', 'ro'],
  ] as const) {
    const target = path.join(root, directory);
    await mkdir(target, { recursive: true });
    mounts.push(await mountOn(context, ['-t', type, '-o', mode, type], target));
  }
  const giveBack = options.lendResolvConf ? await lendResolvConf(context, root) : undefined;
  return {
    async leave() {
      await giveBack?.();
      for (const mounted of mounts.reverse()) await mounted.unmount();
    },
  };
}

/** The system's own file (often a link to something that only runs later) steps aside and comes back. */
async function lendResolvConf(
  context: Pick<ActionContext, 'resources'>,
  root: string,
): Promise<() => Promise<void>> {
  const from = path.join(root, 'etc/resolv.conf');
  const to = `${from}.kindling-backup`;
  const entry: LedgerEntry = { kind: 'renamed', from, to };
  const hadOne = await lstat(from).then(
    () => true,
    () => false,
  );
  await context.resources.take(
    entry,
    async () => {
      if (hadOne) await rename(from, to);
      await copyFile('/etc/resolv.conf', from);
    },
    async () => {
      await rm(from, { force: true });
      if (hadOne) await rename(to, from);
    },
  );
  return () => context.resources.release(entry);
}
