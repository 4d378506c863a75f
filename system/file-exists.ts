import { access } from 'node:fs/promises';

/** Whether something is there under this path, whatever it is; links are followed. */
export function fileExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
