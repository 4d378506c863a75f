import { readFile } from 'node:fs/promises';
import { buildStamp } from './build-stamp.ts';
import { run } from './run.ts';

/** Version and commit of this program: "0.2.0 (1a2b3c4d5)"; without the commit where there is no repository. */
export async function programVersion(): Promise<string> {
  if (buildStamp) return `${buildStamp.version} (${buildStamp.commit})`;
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const git = await run('git', ['rev-parse', '--short=9', 'HEAD'], { cwd: import.meta.dirname }).catch(
    () => undefined,
  );
  return git ? `${version} (${git.stdout.trim()})` : version;
}
