/** Numbers of "Trusted Platform Module Library", Part 2: Structures, revision 1.59; the clause is beside each table. */

/** 6.3 TPM_ALG_ID */
export const ALGORITHM = {
  rsa: 0x0001,
  sha1: 0x0004,
  aes: 0x0006,
  sha256: 0x000b,
  sha384: 0x000c,
  sha512: 0x000d,
  none: 0x0010,
  rsassa: 0x0014,
  rsapss: 0x0016,
  ecdsa: 0x0018,
  ecc: 0x0023,
  cfb: 0x0043,
} as const;

/** 6.4 TPM_ECC_CURVE */
export const CURVE = { p256: 0x0003, p384: 0x0004 } as const;

/** 6.5.2 TPM_CC */
export const COMMAND = {
  createPrimary: 0x0131,
  activateCredential: 0x0147,
  nvRead: 0x014e,
  policySecret: 0x0151,
  quote: 0x0158,
  flushContext: 0x0165,
  nvReadPublic: 0x0169,
  readPublic: 0x0173,
  startAuthSession: 0x0176,
  pcrRead: 0x017e,
} as const;

/** 6.9 TPM_ST */
export const TAG = { noSessions: 0x8001, sessions: 0x8002, attestQuote: 0x8018 } as const;

/** 6.2 TPM_GENERATED: every structure that a TPM itself made and signed begins with it, and a restricted key signs nothing else that does. */
export const GENERATED = 0xff544347;

/** 7.4 TPM_RH */
export const HANDLE = {
  owner: 0x40000001,
  none: 0x40000007,
  password: 0x40000009,
  endorsement: 0x4000000b,
} as const;

/** 8.3 TPMA_OBJECT */
export const ATTRIBUTE = {
  fixedTpm: 1 << 1,
  fixedParent: 1 << 4,
  sensitiveDataOrigin: 1 << 5,
  userWithAuth: 1 << 6,
  adminWithPolicy: 1 << 7,
  restricted: 1 << 16,
  decrypt: 1 << 17,
  sign: 1 << 18,
} as const;

/** The name that node:crypto has for a hash; undefined for one that nobody here uses. */
export function hashName(algorithm: number): 'sha1' | 'sha256' | 'sha384' | 'sha512' | undefined {
  const { sha1, sha256, sha384, sha512 } = ALGORITHM;
  const names = { [sha1]: 'sha1', [sha256]: 'sha256', [sha384]: 'sha384', [sha512]: 'sha512' } as const;
  return names[algorithm as keyof typeof names];
}
