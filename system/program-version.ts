import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Version and commit of this checkout: «0.1.0 (1a2b3c4)». */
export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const git = spawnSync('git', ['rev-parse', '--short=9', 'HEAD'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  return git.status === 0 ? `${version} (${git.stdout.trim()})` : version;
}
