import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  importPKCS8,
  importSPKI,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { writePrivate } from '../../site/state-folder.ts';
import { readIfThere } from '../../system/read-if-there.ts';

const ALGORITHM = 'RS256';
/** Verified tokens are remembered: an agent shows the same one with every poll. */
const REMEMBERED_TOKENS = 5000;

export interface TokenSigner {
  sign: (claims: JWTPayload, lifetimeSeconds: number) => Promise<string>;
  /** Throws jose's errors. */
  verify: (token: string) => Promise<JWTPayload>;
  keySet: JSONWebKeySet;
}

/** Signs and verifies the site's tokens with a key that is made on first start and kept. */
export async function openTokenSigner(folder: string, now: () => Date): Promise<TokenSigner> {
  const path = join(folder, 'token-signing.key');
  let pem = readIfThere(path);
  if (!pem) {
    pem = generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString();
    writePrivate(path, pem);
  }
  const privateKey = await importPKCS8(pem, ALGORITHM);
  const publicKey = await publicKeyOf(pem);
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  const remembered = new Map<string, JWTPayload>();
  return {
    keySet: { keys: [{ ...jwk, kid, use: 'sig', alg: ALGORITHM }] },
    sign: (claims, lifetimeSeconds) => {
      const issuedAt = Math.floor(now().getTime() / 1000);
      return new SignJWT(claims)
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid })
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifetimeSeconds)
        .setJti(randomUUID())
        .sign(privateKey);
    },
    verify: async (token) => {
      const known = remembered.get(token);
      if (known && (known.exp ?? 0) * 1000 > now().getTime()) return known;
      const { payload } = await jwtVerify(token, publicKey, { algorithms: [ALGORITHM], currentDate: now() });
      if (remembered.size >= REMEMBERED_TOKENS) remembered.clear();
      remembered.set(token, payload);
      return payload;
    },
  };
}

async function publicKeyOf(privatePem: string): Promise<CryptoKey> {
  const { createPublicKey } = await import('node:crypto');
  const spki = createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString();
  return importSPKI(spki, ALGORITHM, { extractable: true });
}
