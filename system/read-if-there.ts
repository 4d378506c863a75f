import { readFileSync } from 'node:fs';

/** The text of a file, or undefined where there is none. A file that is there and cannot be read is an error: it was put there to count. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
