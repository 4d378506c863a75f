import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { KindlingError } from '../protocol/error.ts';

/** The private key is readable by its owner only, and an existing one is never overwritten. */
export async function makeKeyFiles(path: string): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  try {
    await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new KindlingError('KND_USAGE', `${path} cannot be made: does it exist already?`, { cause });
  }
  await writeFile(`${path}.pub`, publicKey.export({ type: 'spki', format: 'pem' }));
}

export async function readPrivateKey(path: string): Promise<KeyObject> {
  try {
    const key = createPrivateKey(await readFile(path));
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('not Ed25519');
    return key;
  } catch (cause) {
    throw new KindlingError('KND_USAGE', `${path} is not an Ed25519 private key in PEM form`, { cause });
  }
}

export async function readPublicKey(path: string): Promise<string> {
  try {
    const pem = await readFile(path, 'utf8');
    if (createPublicKey(pem).asymmetricKeyType !== 'ed25519') throw new Error('not Ed25519');
    return pem;
  } catch (cause) {
    throw new KindlingError('KND_USAGE', `${path} is not an Ed25519 public key in PEM form`, { cause });
  }
}
