import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');

/** What the tests of docs and comments need to know about the repository; tests of those tests make one up. */
export interface Repository {
  /** Paths from the root, with slashes. */
  files: readonly string[];
  read: (file: string) => string;
}

/** The files of this repository: those that git has, and new ones that it would not ignore. */
export function thisRepository(): Repository {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  });
  const deleted = execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: ROOT, encoding: 'utf8' });
  const gone = new Set(deleted.split('\0'));
  const files = [...new Set(list.split('\0'))].filter((file) => file !== '' && !gone.has(file));
  return { files, read: (file) => readFileSync(path.join(ROOT, file), 'utf8') };
}

/** A repository of these files, by path. */
export function repositoryOf(contents: Record<string, string>): Repository {
  return { files: Object.keys(contents), read: (file) => contents[file] ?? '' };
}
