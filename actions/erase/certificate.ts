import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { DiskIdentity } from '../disks/disk-identity.ts';
import { type EraseMethod, NIST_CLASS } from './methods.ts';
import type { SampleCheck } from './proof.ts';

/** What was done to one disk and what of it was proved, signed by the machine that did it. */
export interface ErasureCertificate {
  version: 1;
  disk: DiskIdentity;
  method: EraseMethod;
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

export function certify(
  facts: Omit<ErasureCertificate, 'version' | 'nistClass' | 'isProved'>,
): ErasureCertificate {
  const isProved = facts.samples.length > 0 && facts.samples.every(({ found }) => found !== 'unchanged');
  // What could not be proved is not claimed.
  return { version: 1, ...facts, isProved, nistClass: isProved ? NIST_CLASS[facts.method] : 'none' };
}

/** Signs with the given PEM key; without one, with a key made for this run, whose public half the agent's authenticated report carries. */
export function signCertificate(certificate: ErasureCertificate, pem: string | undefined): SignedCertificate {
  const privateKey: KeyObject =
    pem === undefined ? generateKeyPairSync('ed25519').privateKey : createPrivateKey(pem);
  return {
    certificate,
    algorithm: 'Ed25519',
    publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString(),
    signature: sign(null, canonical(certificate), privateKey).toString('base64'),
  };
}

export function isGenuine({ certificate, publicKey, signature }: SignedCertificate): boolean {
  return verify(null, canonical(certificate), publicKey, Buffer.from(signature, 'base64'));
}

/** Keys sorted at every level, so that a certificate that went through a database still verifies. */
function canonical(value: unknown): Buffer {
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
