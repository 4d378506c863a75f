import { open, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  EFI_GLOBAL_GUID,
  EFIVARS,
  efivarfsFileName,
  efivarfsValue,
  encodeEfivarfsFile,
} from '../../formats/efi/variables.ts';
import { KindlingError } from '../../protocol/error.ts';

/** Non-volatile, boot-service and run-time access: what the Boot variables must have. */
const ATTRIBUTES = 7;

/** The firmware's global variables. */
export interface EfiVariables {
  names(): Promise<string[]>;
  read(name: string): Promise<Buffer | undefined>;
  write(name: string, value: Buffer): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Through efivarfs. Tests pass a plain folder. */
export function efiVariables(directory = EFIVARS): EfiVariables {
  const file = (name: string) => path.join(directory, efivarfsFileName(name));
  return {
    async names() {
      const all = await readdir(directory);
      const ending = efivarfsFileName('', EFI_GLOBAL_GUID);
      return all.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
    },
    async read(name) {
      const content = await readFile(file(name)).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return undefined;
        throw cause;
      });
      return content && efivarfsValue(content);
    },
    async write(name, value) {
      const content = encodeEfivarfsFile(ATTRIBUTES, value);
      await changing(name, async () => {
        // One write call per change: efivarfs passes each on to the firmware as a whole.
        const handle = await open(file(name), 'w', 0o644);
        try {
          await handle.write(content);
        } finally {
          await handle.close();
        }
      });
    },
    async remove(name) {
      await changing(name, () => rm(file(name), { force: true }));
    },
  };
}

async function changing(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (code === 'ENOSPC')
      throw new KindlingError('KND_NVRAM_FULL', `the firmware has no room for ${name}`, { cause });
    if (['EROFS', 'EPERM', 'EACCES', 'EINVAL', 'EIO'].includes(code)) {
      throw new KindlingError(
        'KND_NVRAM_READ_ONLY',
        `the firmware does not let ${name} be changed (${code})`,
        { cause },
      );
    }
    throw cause;
  }
}
