import { createPublicKey, verify } from 'node:crypto';
import type { SignedCertificate } from './erasure-certificate.ts';

/** Whether the certificate is the one that was signed, by the key it names itself. Whose key that is, is another question. */
export function isGenuine({ certificate, publicKey, signature }: SignedCertificate): boolean {
  try {
    const key = createPublicKey(publicKey);
    return (
      key.asymmetricKeyType === 'ed25519' &&
      verify(null, canonical(certificate), key, Buffer.from(signature, 'base64'))
    );
  } catch {
    return false; // no key at all
  }
}

/** Keys sorted at every level, so that a certificate that went through a database still verifies. */
export function canonical(value: unknown): Buffer {
  const sorted = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(sorted);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(
      Object.entries(part)
        .filter(([, inner]) => inner !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, inner]) => [key, sorted(inner)]),
    );
  };
  return Buffer.from(JSON.stringify(sorted(value)));
}
