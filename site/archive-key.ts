import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { encodePublicKey } from '../protocol/public-key.ts';
import { readIfThere } from '../system/read-if-there.ts';
import { writePrivate } from './state-folder.ts';

const PRESENT = 'archive.key';
const PREVIOUS = 'archive.previous.key';

/** The site's Ed25519 keys for config archives and boot files: the present one, then the one before the last rotation. */
export function openArchiveKeys(stateFolder: string): KeyObject[] {
  const present = readIfThere(join(stateFolder, PRESENT)) ?? makeKey(stateFolder);
  const previous = readIfThere(join(stateFolder, PREVIOUS));
  return [present, ...(previous ? [previous] : [])].map((pem) => createPrivateKey(pem));
}

/** What others know them by, in the same order. */
export function publicArchiveKeys(keys: readonly KeyObject[]): string[] {
  return keys.map((key) => encodePublicKey(createPublicKey(key)));
}

/** A new key. Until `forgetPreviousArchiveKey`, both sign: mirrors that know the old one learn the new one from it. */
export function rotateArchiveKey(stateFolder: string): void {
  const old = readIfThere(join(stateFolder, PRESENT));
  if (old) writePrivate(join(stateFolder, PREVIOUS), old);
  makeKey(stateFolder);
}

export function forgetPreviousArchiveKey(stateFolder: string): void {
  rmSync(join(stateFolder, PREVIOUS), { force: true });
}

function makeKey(stateFolder: string): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  writePrivate(join(stateFolder, PRESENT), pem);
  return pem;
}
