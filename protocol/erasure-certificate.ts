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
  /** NIST SP 800-88 rev. 1. "none" when the method, or the proof, is not good enough to claim more. */
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
