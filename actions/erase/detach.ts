import { readFile, writeFile } from 'node:fs/promises';
import type { Disk } from '../../protocol/inventory.ts';
import { fileExists } from '../../system/file-exists.ts';
import { waitFor } from '../../system/wait.ts';
import { isOnDisk } from '../disks/partition-paths.ts';

/** Makes the kernel let go of a removable disk; undefined if it did, else why it could not. */
export async function detachDisk(
  disk: Disk,
  listDisks: () => Promise<Disk[]>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const control = `/sys/block/${disk.name}/device/delete`;
  if (!(await fileExists(control))) return 'its driver cannot detach it';
  // An installer that still reads from its stick must not lose it.
  const mounts = await readFile('/proc/mounts', 'utf8');
  if (mounts.split('\n').some((line) => isOnDisk(line.split(' ')[0] ?? '', disk.path)))
    return 'it is mounted';
  await writeFile(control, '1');
  await waitFor(async () => ((await listDisks()).some(({ name }) => name === disk.name) ? undefined : true), {
    name: `${disk.path} to be detached`,
    timeoutMs: 10_000,
    signal,
  });
  return undefined;
}
