import { fileExists } from '../../system/file-exists.ts';
import { waitFor } from '../../system/wait.ts';
import type { ActionContext } from '../contract/action.ts';

/** The kernel shows the partitions of a new table a moment after it was asked to read it; later steps need the devices. */
export async function waitForPartitions(
  context: Pick<ActionContext, 'signal'>,
  disk: string,
  paths: readonly string[],
): Promise<void> {
  await waitFor(
    async () => {
      const there = await Promise.all(paths.map(fileExists));
      return there.every(Boolean) ? true : undefined;
    },
    {
      name: `the partitions of ${disk}`,
      timeoutMs: 20_000,
      signal: context.signal,
      code: 'KND_PARTITIONS_MISSING',
    },
  );
}
