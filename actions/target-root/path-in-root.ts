import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';

const MOST_LINKS = 40; // as the kernel: more is a loop

/**
 * Where an absolute path of the target system lies below its mount point, symbolic links read as that system would read them.
 * Without this, a link such as /var/run → /run in the target leads out of the mount and into the Micro-OS.
 */
export async function pathInRoot(root: string, wanted: string): Promise<string> {
  const pending = wanted.split('/').filter(Boolean);
  const resolved: string[] = [];
  let links = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === '.') continue;
    if (name === '..') {
      resolved.pop();
      continue;
    }
    const here = path.join(root, ...resolved, name);
    const isLink = await lstat(here).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    );
    if (!isLink) {
      resolved.push(name);
      continue;
    }
    if (++links > MOST_LINKS) {
      throw new KindlingError('KND_PATH_INVALID', `${wanted} leads through too many symbolic links`);
    }
    const linkTarget = await readlink(here);
    if (linkTarget.startsWith('/')) resolved.length = 0;
    pending.unshift(...linkTarget.split('/').filter(Boolean));
  }
  return path.join(root, ...resolved);
}
