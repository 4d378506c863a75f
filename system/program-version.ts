import { readFile } from 'node:fs/promises';
import { run } from './run.ts';

/** Version and commit of this checkout: "0.1.0 (1a2b3c4)"; without the commit where there is no repository. */
export async function programVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const git = await run('git', ['rev-parse', '--short=9', 'HEAD'], { cwd: import.meta.dirname }).catch(
    () => undefined,
  );
  return git ? `${version} (${git.stdout.trim()})` : version;
}
