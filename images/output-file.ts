import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { KindlingError } from '../protocol/error.ts';

/** Writes a file that is there whole or not at all: what fails leaves what was there before. Never over its own input. */
export async function writeWhole<T>(
  path: string,
  input: string,
  write: (output: FileHandle) => Promise<T>,
): Promise<T> {
  const [before, source] = await Promise.all([stat(path).catch(() => undefined), stat(input)]);
  if (before && !before.isFile()) throw new KindlingError('KND_USAGE', `${path} is not a file`);
  if (before && before.dev === source.dev && before.ino === source.ino) {
    throw new KindlingError('KND_USAGE', `${path} is what is to be read: name another file to write`);
  }
  const part = `${path}.part`;
  try {
    const output = await open(part, 'w');
    const result = await write(output)
      .then(async (written) => {
        // on the disk before it has its name, or a power cut leaves that name with nothing behind it
        await output.sync();
        return written;
      })
      .finally(() => output.close());
    await rename(part, path);
    return result;
  } catch (thrown) {
    await rm(part, { force: true });
    throw thrown;
  }
}
