import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { KindlingError } from '../protocol/error.ts';
import { homeFolder } from '../system/home-folder.ts';

/** Where the stub keeps its database, CA and artifacts unless told otherwise. */
export function defaultStateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment['XDG_STATE_HOME'] || join(homeFolder(), '.local', 'state');
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

/** A folder of the state folder, made if it is not there: people put files into it as soon as the orchestrator has named it. */
export function openSubfolder(stateFolder: string, name: string): string {
  const path = join(stateFolder, name);
  openStateFolder(path);
  return path;
}

/**
 * Keeps a second orchestrator out: two on one database would hand out the same work twice. SQLite's lock on a file of its own is the
 * kernel's, so it goes with the process, however that ends; the database itself stays readable for others.
 */
export function lockStateFolder(path: string): Disposable {
  const lock = new DatabaseSync(join(path, 'in-use'));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (cause) {
    lock.close();
    throw new KindlingError('KND_STUB_STATE', `another orchestrator runs with the state folder ${path}`, {
      cause,
      hint: 'Stop it first, or give another folder with --state.',
    });
  }
  return { [Symbol.dispose]: () => lock.close() };
}

/**
 * Writes a file of the owner's in one step: a crash leaves the old one or the new one, never half of it. When this returns the disk
 * has it, because a CA or token key that a power cut took would shut out every node that trusts it.
 */
export function writePrivate(path: string, content: string): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode: 0o600, flush: true });
  renameSync(temporary, path);
  syncFolder(folder);
}

/** The new name is on the disk only when its folder is. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
