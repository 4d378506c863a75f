import { ALGORITHM, ATTRIBUTE, CURVE } from './numbers.ts';
import type { PublicArea } from './public-area.ts';

const {
  fixedTpm,
  fixedParent,
  sensitiveDataOrigin,
  userWithAuth,
  adminWithPolicy,
  restricted,
  decrypt,
  sign,
} = ATTRIBUTE;
const AES_128_CFB = { algorithm: ALGORITHM.aes, bits: 128, mode: ALGORITHM.cfb };
/** Filled with zeros: the TPM puts the key there. "EK Credential Profile" 2.5, annex B.3.3 and B.3.4, says how many. */
const RSA_BLANK = Buffer.alloc(256);
const ECC_BLANK = Buffer.alloc(32);

/** TPM2_PolicySecret(TPM_RH_ENDORSEMENT), the policy of every endorsement key ("EK Credential Profile" 2.5, B.6.2). */
const EK_POLICY = Buffer.from('837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa', 'hex');

const EK_COMMON = {
  nameAlgorithm: ALGORITHM.sha256,
  attributes: fixedTpm | fixedParent | sensitiveDataOrigin | adminWithPolicy | restricted | decrypt,
  authPolicy: EK_POLICY,
};

/** "EK Credential Profile" 2.5, B.3.3: template L-1. */
const RSA_EK: PublicArea = {
  ...EK_COMMON,
  key: {
    kind: 'rsa',
    symmetric: AES_128_CFB,
    scheme: undefined,
    bits: 2048,
    exponent: 0,
    modulus: RSA_BLANK,
  },
};

/** "EK Credential Profile" 2.5, B.3.4: template L-2. */
const ECC_EK: PublicArea = {
  ...EK_COMMON,
  key: {
    kind: 'ecc',
    symmetric: AES_128_CFB,
    scheme: undefined,
    curve: CURVE.p256,
    x: ECC_BLANK,
    y: ECC_BLANK,
  },
};

/** The two kinds of endorsement keys, and where a TPM keeps them ("TPM v2.0 Provisioning Guidance" 1.0, 7.8; EK profile 2.2.1.4). */
export const ENDORSEMENT_KEYS = {
  rsa: { template: RSA_EK, persistent: 0x81010001, certificateIndex: 0x01c00002 },
  ecc: { template: ECC_EK, persistent: 0x81010002, certificateIndex: 0x01c0000a },
} as const;

const AK_COMMON = {
  nameAlgorithm: ALGORITHM.sha256,
  attributes: fixedTpm | fixedParent | sensitiveDataOrigin | userWithAuth | restricted | sign,
  authPolicy: Buffer.alloc(0),
};

/** A key that signs only what the TPM itself says. P-256 first: it is made in a fraction of the time. */
export const ATTESTATION_KEYS: readonly PublicArea[] = [
  {
    ...AK_COMMON,
    key: {
      kind: 'ecc',
      symmetric: undefined,
      scheme: { algorithm: ALGORITHM.ecdsa, hash: ALGORITHM.sha256 },
      curve: CURVE.p256,
      x: Buffer.alloc(0),
      y: Buffer.alloc(0),
    },
  },
  {
    ...AK_COMMON,
    key: {
      kind: 'rsa',
      symmetric: undefined,
      scheme: { algorithm: ALGORITHM.rsassa, hash: ALGORITHM.sha256 },
      bits: 2048,
      exponent: 0,
      modulus: Buffer.alloc(0),
    },
  },
];

/** Whether a key is what the template makes: everything but the key itself is the same. */
export function isMadeFrom(template: PublicArea, area: PublicArea): boolean {
  return (
    area.nameAlgorithm === template.nameAlgorithm &&
    area.attributes === template.attributes &&
    area.authPolicy.equals(template.authPolicy) &&
    JSON.stringify(shapeOf(area.key)) === JSON.stringify(shapeOf(template.key))
  );
}

function shapeOf(key: PublicArea['key']): unknown {
  if (key.kind === 'rsa') {
    const { kind, symmetric, scheme, bits, exponent } = key;
    return { kind, symmetric, scheme, bits, exponent: exponent || 65537 };
  }
  const { kind, symmetric, scheme, curve } = key;
  return { kind, symmetric, scheme, curve };
}
