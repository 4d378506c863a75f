import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';

/** Where the stub keeps its database, CA and artefacts unless told otherwise. */
export function defaultStateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment['XDG_STATE_HOME'] || join(homedir(), '.local', 'state');
  return join(base, 'kindling');
}

/** Makes the folder, for its owner only: it holds the CA's key and the nodes' secrets. */
export function openStateFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chmodSync(path, 0o700);
  } catch (cause) {
    throw new KindlingError('KND_STUB_STATE', `cannot use ${path} as state folder`, { cause });
  }
}

export function readIfPresent(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** Writes a file of the owner's in one step: a crash leaves the old one or the new one, never half of it. */
export function writePrivate(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, path);
}
