import { createPublicKey, type KeyObject } from 'node:crypto';

/** An Ed25519 public key as the 32 bytes it is, in base64url: short enough for a kernel command line. */
export function encodePublicKey(publicKey: KeyObject): string {
  return publicKey.export({ format: 'jwk' }).x ?? '';
}

/** Undefined if the text is no such key. */
export function decodePublicKey(text: string): KeyObject | undefined {
  try {
    return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: text } });
  } catch {
    return undefined;
  }
}
