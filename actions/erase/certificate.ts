import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { canonical } from '../../protocol/check-certificate.ts';
import type { ErasureCertificate, SignedCertificate } from '../../protocol/erasure-certificate.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type EraseMethod, NIST_CLASS } from './methods.ts';

export function certify(
  facts: Omit<ErasureCertificate, 'version' | 'nistClass' | 'isProved'> & { method: EraseMethod },
): ErasureCertificate {
  const isProved = facts.samples.length > 0 && facts.samples.every(({ found }) => found !== 'unchanged');
  // What could not be proved is not claimed.
  return { version: 1, ...facts, isProved, nistClass: isProved ? NIST_CLASS[facts.method] : 'none' };
}

/**
 * The key that signs: the one that was given, else one made for this run, whose public half travels with the certificate over the agent's
 * authenticated connection. Read before anything is erased: afterwards a wrong one would cost the proof.
 */
export function signingKey(pem: string | undefined): KeyObject {
  if (pem === undefined) return generateKeyPairSync('ed25519').privateKey;
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below, and without the reason: OpenSSL's may quote the key.
  }
  throw new KindlingError(
    'KND_ACTION_VARIABLES',
    'CERTIFICATE_KEY is not the PEM of an Ed25519 private key; nothing was erased',
  );
}

export function signCertificate(certificate: ErasureCertificate, key: KeyObject): SignedCertificate {
  return {
    certificate,
    algorithm: 'Ed25519',
    publicKey: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
    signature: sign(null, canonical(certificate), key).toString('base64'),
  };
}
