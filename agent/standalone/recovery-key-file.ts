import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '../../system/replace-file.ts';

/** What fde_dmv posts. */
export interface RecoveryKey {
  keyId: string;
  recoveryKey: string;
  disk: object;
}

/**
 * Adds a key to those of a machine; an older one may still be the one that opens its disk. At every moment the file has all keys but
 * the newest, or all. One that cannot be read is put aside, not written over: a person may still find a key in it.
 */
export async function addRecoveryKey(file: string, key: RecoveryKey): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const others = (await readKeys(file)).filter(({ keyId }) => keyId !== key.keyId);
  const all = [...others, { ...key, at: new Date().toISOString() }];
  await replaceFile(file, `${JSON.stringify(all, undefined, 2)}\n`);
}

async function readKeys(file: string): Promise<RecoveryKey[]> {
  const text = await readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return '[]';
    throw thrown;
  });
  try {
    return JSON.parse(text) as RecoveryKey[];
  } catch {
    await rename(file, `${file}.damaged`);
    return [];
  }
}
