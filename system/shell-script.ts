import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

/**
 * The text of one of our own shell scripts, from the sources as well as from inside the one-file executable, into which the build
 * puts every `.sh` file below `agent/`, `actions/` and `system/`. Assets are latin1: scripts are plain ASCII.
 */
export function readShellScript(path: `${string}.sh`): string {
  if (isSea()) return getAsset(path, 'latin1');
  return readFileSync(new URL(`../${path}`, import.meta.url), 'latin1');
}
