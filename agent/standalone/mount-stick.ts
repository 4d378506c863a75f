import { mkdir, rm } from 'node:fs/promises';
import type { Run } from '../../system/run.ts';

const MOUNT_POINT = '/run/kindling/stick';

/** Mounts a FAT partition of the stick for the moment of one piece of work: a stick may be pulled out at any time. */
export async function withStickMounted<T>(
  device: string,
  run: Run,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(MOUNT_POINT, { recursive: true });
  await run('mount', ['-t', 'vfat', device, MOUNT_POINT]);
  try {
    return await work(MOUNT_POINT);
  } finally {
    await run('umount', [MOUNT_POINT]);
    await rm(MOUNT_POINT, { recursive: true, force: true }).catch(() => {});
  }
}
