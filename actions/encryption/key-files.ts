import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ActionContext } from '../contract/action.ts';
import type { DiskKeys } from './disk-keys.ts';

/** Files that cryptsetup reads keys from: unlike arguments, no other process sees them. */
export interface KeyFiles {
  disk: string;
  recovery: string;
}

/** In a folder only root can enter, in the memory of the Micro-OS, and gone with the action. */
export async function layOutKeys(
  context: Pick<ActionContext, 'resources'>,
  { diskKey, recoveryKey }: DiskKeys,
): Promise<KeyFiles> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kindling-keys-'));
  const files = { disk: path.join(folder, 'disk'), recovery: path.join(folder, 'recovery') };
  await context.resources.take(
    { kind: 'folder', path: folder },
    async () => {
      await writeFile(files.disk, diskKey, { mode: 0o600 });
      await writeFile(files.recovery, recoveryKey, { mode: 0o600 });
    },
    () => rm(folder, { recursive: true, force: true }),
  );
  return files;
}
