import { open, rename, rm } from 'node:fs/promises';

export interface ReplaceFileOptions {
  mode?: number;
  uid?: number;
  gid?: number;
  /** The name under which it is written. */
  temporary?: string;
}

/**
 * Writes a file in one step: the new content is complete on the disk before it takes the old one's place, so a kill or a power cut
 * leaves one or the other. On the disk under its name it is when the folder was synced or the file system unmounted.
 */
export async function replaceFile(
  file: string,
  contents: string | Buffer,
  { mode, uid, gid, temporary = `${file}.kindling-new` }: ReplaceFileOptions = {},
): Promise<void> {
  await rm(temporary, { force: true });
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(contents);
    if (uid !== undefined && gid !== undefined) await handle.chown(uid, gid);
    if (mode !== undefined) await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}
