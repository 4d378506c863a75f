import { readdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { fileExists } from '../../system/file-exists.ts';
import { waitFor } from '../../system/wait.ts';
import { BlockDevice } from '../disks/block-device.ts';

/** Stops a bcache device and waits until its backing disk is free. What is mounted is refused: the kernel would stop it at the unmount, whenever that is. */
export async function stopBcache(name: string): Promise<void> {
  await checkIsFree(name);
  const sysfs = `/sys/block/${name}`;
  const backing = path.basename(path.dirname(await realpath(`${sysfs}/bcache`)));
  await writeFile(`${sysfs}/bcache/stop`, '1');
  await untilGone(sysfs);
  await untilFree(backing);
}

/**
 * Makes bcache let go of a disk or partition that shows no holder: a cache belongs to its set even when nothing is cached with it, and a backing
 * disk waits for its cache. `stop` leaves dirty data where it is; `unregister` would first write all of it to disks that are about to be erased.
 */
export async function releaseFromBcache(name: string, log: (message: string) => void): Promise<void> {
  const sysfs = `/sys/class/block/${name}/bcache`;
  const names: string[] = await readdir(sysfs).catch(() => []);
  if (names.length === 0) return;
  log(`taking down the bcache of ${name}`);
  await writeFile(`${sysfs}/${names.includes('set') ? 'set/stop' : 'stop'}`, '1');
  await untilGone(sysfs);
  await untilFree(name);
}

async function checkIsFree(name: string): Promise<void> {
  await using _ = await BlockDevice.open(`/dev/${name}`);
}

/** Both end some time after they were asked to: when the last write is through. */
const WAIT = { timeoutMs: 20_000, intervalMs: 50, code: 'KND_DISK_BUSY' } as const;

async function untilGone(sysfs: string): Promise<void> {
  const isGone = async () => ((await fileExists(sysfs)) ? undefined : true);
  await waitFor(isGone, { ...WAIT, name: `the end of ${sysfs}` });
}

async function untilFree(name: string): Promise<void> {
  const isFree = () =>
    checkIsFree(name).then(
      () => true,
      (cause: unknown) => {
        if (cause instanceof KindlingError && cause.code === 'KND_DISK_BUSY') return undefined;
        throw cause;
      },
    );
  await waitFor(isFree, { ...WAIT, name: `${name} to be free of bcache` });
}
