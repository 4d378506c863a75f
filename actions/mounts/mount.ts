import { mkdtemp, readdir, readlink, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { waitFor } from '../../system/wait.ts';
import type { ActionContext } from '../contract/action.ts';
import type { LedgerEntry } from '../resources/ledger.ts';

export type MountContext = Pick<ActionContext, 'run' | 'resources'>;

/** Something mounted; it goes away with the action, or earlier by unmount(). */
export interface Mounted {
  target: string;
  unmount(): Promise<void>;
}

/** Mounts a file system on a directory of its own. */
export async function mountFilesystem(
  context: MountContext,
  source: string,
  options: {
    fsType?: string | undefined;
    isReadOnly?: boolean;
    /** With isReadOnly: do not replay the journal either, so that not a byte changes (ext4, xfs). */
    isUnrecovered?: boolean;
  } = {},
): Promise<Mounted> {
  const target = await mkdtemp(path.join(tmpdir(), 'kindling-mount-'));
  const type = options.fsType ? ['-t', options.fsType] : [];
  const skipsJournal = options.isUnrecovered && /^(ext[34]|xfs)$/.test(options.fsType ?? '');
  const mode = options.isReadOnly ? ['-o', skipsJournal ? 'ro,norecovery' : 'ro'] : [];
  return mountOn(context, [...type, ...mode, source], target, true);
}

/** Mounts on a directory that exists: pseudo file systems and binds below a mounted root. */
export async function mountOn(
  context: MountContext,
  mountArgs: readonly string[],
  target: string,
  isOwnDirectory = false,
): Promise<Mounted> {
  const entry: LedgerEntry = { kind: 'mount', target, ...(isOwnDirectory ? { removeTarget: true } : {}) };
  await context.resources.take(
    entry,
    () =>
      // A cancel must not leave open whether it is mounted: mounting is quick, so it is never interrupted.
      context
        .run('mount', [...mountArgs, target], { signal: new AbortController().signal })
        .catch(async (cause) => {
          if (isOwnDirectory) await rmdir(target).catch(() => {});
          throw new KindlingError(
            'KND_MOUNT_FAILED',
            `${mountArgs.at(-1)} could not be mounted on ${target}`,
            { cause },
          );
        }),
    () => unmount(context, target, isOwnDirectory),
  );
  return { target, unmount: () => context.resources.release(entry) };
}

async function unmount(context: MountContext, target: string, isOwnDirectory: boolean): Promise<void> {
  const signal = new AbortController().signal; // giving back goes on after a cancel
  await waitFor(
    async () => {
      const answer = await context.run('umount', [target], { okExitCodes: [0, 1, 32], signal });
      if (answer.exitCode === 0) return true;
      await endProcessesBelow(target);
      return undefined;
    },
    { name: `${target} to be unmounted`, timeoutMs: 5_000, intervalMs: 100, code: 'KND_MOUNT_BUSY' },
  );
  if (isOwnDirectory) await rmdir(target);
}

/** Daemons that a command started inside the mounted system (package scripts do) keep it busy: they end with it. */
async function endProcessesBelow(target: string): Promise<void> {
  for (const name of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const places = await Promise.all(
      ['root', 'cwd', 'exe'].map((link) => readlink(`/proc/${name}/${link}`).catch(() => '')),
    );
    if (
      Number(name) === process.pid ||
      !places.some((place) => place === target || place.startsWith(`${target}/`))
    ) {
      continue;
    }
    try {
      process.kill(Number(name), 'SIGKILL');
    } catch {
      // gone in the meantime
    }
  }
}
