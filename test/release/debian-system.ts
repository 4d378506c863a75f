import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Run, run } from '../../system/run.ts';

/**
 * A copy of this Debian that forgets everything: its files lie under an overlay in a mount namespace that lives as long as one
 * script. What the script leaves in /out is kept in the folder that is given.
 */
export async function runInDebianCopy(folder: string, script: string): ReturnType<Run> {
  const work = await mkdtemp(join(folder, 'system-'));
  const enter = `set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mkdir -p "$1/root/out"
mount --bind "$2" "$1/root/out"
mount --bind /dev "$1/root/dev"
exec chroot "$1/root" /bin/sh -e -c "$3"`;
  try {
    return await run(
      'unshare',
      ['--mount', '--propagation=private', 'sh', '-c', enter, 'sh', work, folder, script],
      { okExitCodes: [0, 1, 2, 100], env: { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' } },
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
