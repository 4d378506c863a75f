import { copyFile, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/** A folder that has one program and nothing else: no libc, no /proc, no shell. */
export async function makeEmptyRoot(folder: string, program: string): Promise<string> {
  const root = await mkdtemp(join(folder, 'root-'));
  await copyFile(program, join(root, 'program'));
  return root;
}

/** Starts the program of such a root in a mount namespace of its own, so that nothing it mounts stays; it knows no folder of ours. */
export function startInRoot(root: string, args: string[], options: { asFirstProcess?: boolean } = {}) {
  const namespaces = options.asFirstProcess ? ['--mount', '--pid', '--fork'] : ['--mount'];
  return execa('unshare', [...namespaces, '--propagation=private', 'chroot', root, '/program', ...args], {
    reject: false,
    extendEnv: false,
    env: { PATH: process.env['PATH'] },
  });
}
