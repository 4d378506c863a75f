import { copyFile, lstat, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ActionContext } from '../contract/action.ts';
import { type Mounted, mountOn } from '../mounts/mount.ts';
import type { LedgerEntry } from '../resources/ledger.ts';
import { pathInRoot } from './path-in-root.ts';

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

/**
 * The system's own file (often a link to something that only runs later) steps aside and comes back. Where it already stands aside, a run was ended by
 * the power: what is in its place is what was lent then, and must not take the place of the system's own.
 */
async function lendResolvConf(
  context: Pick<ActionContext, 'resources'>,
  root: string,
): Promise<() => Promise<void>> {
  const directory = await pathInRoot(root, '/etc');
  await mkdir(directory, { recursive: true });
  const from = path.join(directory, 'resolv.conf');
  const to = `${from}.kindling-backup`;
  const [isThere, isAside] = [await exists(from), await exists(to)];
  const hadOne = isThere || isAside;
  const entry: LedgerEntry = hadOne ? { kind: 'renamed', from, to } : { kind: 'folder', path: from };
  const giveBack = async () => {
    await rm(from, { force: true });
    if (hadOne) await rename(to, from);
  };
  await context.resources.take(
    entry,
    async () => {
      if (isThere && !isAside) await rename(from, to);
      await rm(from, { force: true });
      await copyFile('/etc/resolv.conf', from).catch(async (cause) => {
        await giveBack();
        throw cause;
      });
    },
    giveBack,
  );
  return () => context.resources.release(entry);
}

function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
}
