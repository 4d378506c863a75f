import { access, constants } from 'node:fs/promises';
import path from 'node:path';

/** In this order, wherever they lie: crun is what the Micro-OS has and what the tests run with. */
const RUNTIMES = ['crun', 'runc'];

/** The container runtime of this machine. A runc that lies earlier in the path (Docker brings one) does not come before crun. */
export async function findRuntime(searchPath: string): Promise<string | undefined> {
  for (const name of RUNTIMES) {
    for (const directory of searchPath.split(':')) {
      const file = path.join(directory, name);
      if (await isProgram(file)) return file;
    }
  }
  return undefined;
}

function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
