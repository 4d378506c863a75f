import { access, writeFile } from 'node:fs/promises';
import { waitFor } from '../../agent/system/wait.ts';
import type { Disk } from '../../protocol/inventory.ts';

/** Makes the kernel let go of a removable disk; undefined if it did, else why it could not. */
export async function detachDisk(
  disk: Disk,
  listDisks: () => Promise<Disk[]>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const control = `/sys/block/${disk.name}/device/delete`;
  const canDelete = await access(control).then(
    () => true,
    () => false,
  );
  if (!canDelete) return 'its driver cannot detach it';
  await writeFile(control, '1');
  await waitFor(async () => ((await listDisks()).some(({ name }) => name === disk.name) ? undefined : true), {
    name: `${disk.path} to be detached`,
    timeoutMs: 10_000,
    signal,
  });
  return undefined;
}
