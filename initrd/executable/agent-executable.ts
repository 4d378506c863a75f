import { isSea } from 'node:sea';
import { KindlingError } from '../../protocol/error.ts';
import { bundleAgent } from './bundle.ts';
import { ensureExecutable } from './executable.ts';

/** The executable `kindling-agent`: one static file. */
export async function ensureAgent(): Promise<string> {
  mustHaveSources('the agent');
  return ensureExecutable('kindling-agent', await bundleAgent());
}

/** Compilers, Debian packages and our sources: the one-file `kindling` carries none of them. */
export function mustHaveSources(what: string): void {
  if (!isSea()) return;
  throw new KindlingError(
    'KND_BUILD_SOURCES',
    `${what} is built in Kindling’s repository, with gcc, binutils and esbuild; this is the one-file program`,
  );
}
