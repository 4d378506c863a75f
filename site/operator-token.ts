import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere } from '../system/read-if-there.ts';
import { writePrivate } from './state-folder.ts';

/** The token for people who may read the state folder: the CLI on the same machine finds it by itself. */
export function openOperatorToken(folder: string): string {
  return openSecret(join(folder, 'operator-token'), () => randomBytes(32).toString('base64url'));
}

/** EMF calls the owner of nodes a project; a stub has one. */
export function openProjectId(folder: string): string {
  return openSecret(join(folder, 'project-id'), randomUUID);
}

/** The password of the user "operator", for signing in at a node's console. */
export function openOperatorPassword(folder: string): string {
  return openSecret(join(folder, 'operator-password'), () => randomBytes(16).toString('base64url'));
}

function openSecret(path: string, make: () => string): string {
  const kept = readIfThere(path)?.trim();
  if (kept) return kept;
  const secret = make();
  writePrivate(path, `${secret}\n`);
  return secret;
}
