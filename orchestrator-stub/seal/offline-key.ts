import { constants, createPublicKey, publicEncrypt } from 'node:crypto';

const LEAST_BITS = 2048;

/** Whether a text is the public half of a key that encryptForOfflineKey() can use: RSA as PEM. */
export function isOfflineKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey(pem);
    const isPrivate = pem.includes('PRIVATE KEY');
    return (
      !isPrivate && asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_BITS
    );
  } catch {
    return false;
  }
}

/**
 * A short text that only the private half opens, which the orchestrator does not have. RSA-OAEP with SHA-256 (RFC 8017, 7.1), because
 * openssl alone opens it on a machine without anything of ours.
 */
export function encryptForOfflineKey(pem: string, text: string): string {
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  return publicEncrypt({ key: pem, padding, oaepHash: 'sha256' }, Buffer.from(text)).toString('base64');
}
