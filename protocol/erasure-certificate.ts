import { createPublicKey, verify } from 'node:crypto';

/** A block of known data that was written before an erase and looked for after it. */
export interface SampleCheck {
  offset: number;
  sha256: string;
  /** What was read there after the erase. */
  found: 'zeros' | 'other' | 'unchanged';
}

/** What was done to one disk and what of it was proved, signed by the machine that did it. */
export interface ErasureCertificate {
  version: 1;
  disk: { path: string; sizeBytes: number; serial?: string; wwn?: string; model?: string };
  method: string;
  /** NIST SP 800-88 rev. 1. «none» when the method, or the proof, is not good enough to claim more. */
  nistClass: 'none' | 'clear' | 'purge';
  startedAt: string;
  finishedAt: string;
  samples: SampleCheck[];
  /** Whether every sample was gone afterwards. */
  isProved: boolean;
  /** Whether no signature or partition table was found afterwards. */
  isBlank: boolean;
}

export interface SignedCertificate {
  certificate: ErasureCertificate;
  algorithm: 'Ed25519';
  /** PEM. */
  publicKey: string;
  /** Base64, over the canonical JSON of `certificate`. */
  signature: string;
}

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
